// The Python module: checks every array where it enters, then runs the kernels without Python's lock. This file is
// compiled once for each instruction set, into a module with the name MODULE_NAME.
#include "arrays.h"
#include "encoder.h"
#include "layer.h"
#include "scores.h"

namespace newtonnet {

constexpr i64 LAST_CACHE = 1 << 24;  // a block above this many bytes is taken not to stay in any cache
constexpr i64 CORE_CACHE = 1 << 18;  // a block above this many bytes is taken not to stay in a core's own cache

constexpr i64 TILE = 3 << 17;        // bytes of a block that are copied to stay in a core's own cache
constexpr i64 WIDE = 256;            // columns from which a block is worth that
constexpr i64 OFTEN = 4;             // uses of each row from which it is

// ---- sparse products

template <class T>
void run_series(const Operator<T>& op, Block<T> x, Maybe<T> other, Block<T> coefficients, Block<T> out, Maybe<T> inner,
                i64 threads) {
  const auto [n, columns] = sizes<2>("x", x);
  const i64 terms = sizes<2>("coefficients", coefficients)[0];
  require(terms > 0, "coefficients must have one row or more");
  require(!other == !inner, "inner products must be given with the block that they are with");
  Series<T> s{.matrix = op.matrix.with(op.values ? op.values->data() : nullptr),
              .order = op.order.data(),
              .scale = op.scale.data(),
              .x = read("x", x, {op.matrix.n, columns}),
              .other = read("against", other, {n, columns}),
              .coefficients = read("coefficients", coefficients, {terms, columns}),
              .out = write("out", out, {n, columns}),
              .columns = columns,
              .degree = terms - 1};
  T* products = write("inner products", inner, {terms, columns});
  if (products) std::fill_n(products, terms * columns, T(0));
  if (x.size() == 0) return;
  // So many columns at once that a block stays in the cache; rows fill lines of 64 bytes, at least one.
  const i64 fitting = LAST_CACHE / (n * i64(sizeof(T))), line = 64 / i64(sizeof(T));
  s.at_once = std::min({columns, WIDEST<T>, std::max<i64>(fitting / line, 1) * line});
  s.prefetch = n * s.at_once * i64(sizeof(T)) > CORE_CACHE;
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  s.team = &team;
  const i64 width = with_row<T>(s.at_once, []<class R>(R) { return R::width; });
  const i64 height = n * width, parts = team.size * terms * columns;
  Workspace room;
  s.inner = room.array<T>(parts);
  s.a = room.array<T>(height);
  s.b = room.array<T>(height);
  s.total = room.array<T>(height);
  s.against = products ? room.array<T>(height) : nullptr;
  in_shares(team, n, s.matrix.rows, [&](i64 lo, i64 hi, int thread) { series(s, lo, hi, thread); });
  if (products) add_up(s.inner, team.size, terms * columns, products);
}

template <class T> void run_multiply(const Csr& matrix, Block<T> values, Block<T> x, Block<T> out, i64 threads) {
  const auto [m, d] = sizes<2>("x", x);
  const i64 n = matrix.n;
  Product<T> s{matrix.with(read("values", values, {matrix.entries})), x.data(), write("out", out, {n, d}), m, d};
  if (out.size() == 0) return;
  py::gil_scoped_release unlocked;
  // A wide block that is read often goes tile by tile through a core's own cache.
  const i64 fitting = TILE / (std::max<i64>(m, 1) * i64(sizeof(T))), line = 64 / i64(sizeof(T));
  const i64 at_once = std::min(WIDEST<T>, fitting / line * line);
  const bool often = d >= WIDE && matrix.entries >= OFTEN * m;
  const bool copied = often && at_once > 0 && tiles(1, d, at_once) >= threads;
  if (copied) s.at_once = at_once;
  const i64 all = tiles(1, d, s.at_once);
  Team team(std::min(threads, copied ? all : n));
  if (!copied) {
    in_shares(team, n, s.matrix.rows, [&](i64 lo, i64 hi, int) { multiply<T>(s, lo, hi, 0, all, nullptr); });
    return;
  }
  const i64 height = m * WIDEST<T>;
  Workspace room;
  T* rooms = room.array<T>(height * team.size);
  in_shares(team, all, nullptr, [&](i64 from, i64 to, int thread) {
    multiply<T>(s, 0, n, from, to, rooms + thread * height);
  });
}

// ---- dense blocks

template <class T> void run_drop(Block<T> x, Block<T> out, const GivenMask::value_type& given, i64 word, i64 threads) {
  const auto [n, members, d] = sizes<3>("x", x);
  const GivenMask own = given;
  const Mask mask = checked(own, members);
  const T* from = x.data();
  T* to = write("out", out, {n, members, d});
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  in_shares(team, n, nullptr, [&, members = members, d = d](i64 lo, i64 hi, int) {
    drop(from, to, members, d, word, mask, lo, hi);
  });
}

template <class T>
void run_backward(Block<T> gradient, Block<T> weight, Block<T> hidden, double scale, Block<T> of_z, Block<T> of_weight,
                  Block<T> of_bias, i64 threads) {
  const auto [n, members, d] = sizes<3>("hidden", hidden);
  const i64 classes = sizes<3>("gradient", gradient)[2];
  const Layer<T> s{hidden.data(), read("weight", weight, {members, classes, d}),
                   read("gradient", gradient, {n, members, classes}), write("z", of_z, {n, members, d}),
                   write("gradient of the weight", of_weight, {members, classes, d}),
                   write("gradient of the bias", of_bias, {members, d}), members, d, classes, T(scale)};
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  const i64 many = members * classes * d, few = members * d, all = team.size * (many + few);
  Workspace room;
  T *parts = room.array<T>(all), *more = parts + team.size * many;
  std::fill_n(parts, all, T(0));
  in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int thread) {
    Layer<T> part = s;
    part.of_weight = parts + thread * many;
    part.of_bias = more + thread * few;
    backward(part, lo, hi);
  });
  add_up(parts, team.size, many, s.of_weight);
  add_up(more, team.size, few, s.of_bias);
}

template <class T>
void run_adam(Block<T> parameter, Block<T> gradient, Block<T> first, Block<T> second, Block<T> rates, Block<T> decays,
              i64 axis, i64 step, bool decoupled, double beta1, double beta2, double epsilon) {
  const Shape shape = shape_of(parameter);
  require(size_t(axis) < shape.size(), "axis must be one of the parameter's");
  require(step >= 1, "step must be 1 or more");
  const i64 members = shape[size_t(axis)];
  require(rates.size() == members && decays.size() == members,
          "rates and decays must have one number for each of ", members, " members");
  i64 inner = 1;  // numbers behind each other that belong to the same member
  for (size_t k = size_t(axis) + 1; k < shape.size(); ++k) inner *= shape[k];
  const AdamStep s{beta1, beta2, epsilon, 1 - std::pow(beta1, step), 1 - std::pow(beta2, step), decoupled};
  T *x = parameter.mutable_data(), *a = write("first moment", first, shape), *b = write("second moment", second, shape);
  const T *g = read("gradient", gradient, shape), *rate = rates.data(), *decay = decays.data();
  py::gil_scoped_release unlocked;
  for (i64 at = 0; at < parameter.size(); at += inner) {
    const i64 member = at / inner % members;
    adam(s, rate[member], decay[member], inner, x + at, a + at, b + at, g + at);
  }
}

// ---- the encoder of sparse features

// The entries of a matrix, those of value 0 left out where there may be many.
template <class T>
Entries<T> entries_of(const Matrix<T>& m, const i64* order, i64 n, i64 count, bool gaps, Team& team, Workspace& room) {
  if (!gaps && !order) return {m.rows, m.rows + 1, m.columns, m.values};
  const Thinned<T> to{room.array<i32>(n), room.array<i32>(n), room.array<i32>(count + 1), room.array<T>(count + 1)};
  in_shares(team, n, m.rows, [&](i64 lo, i64 hi, int) { thin(m, order, lo, hi, to); });
  return {to.begin, to.end, to.columns, to.values};
}

// Calls f(member, part, parts, thread) so that each thread has members of its own, or, of few members, parts of all.
template <class F> void by_member(Team& team, i64 members, const F& f) {
  std::atomic<i64> next{0};
  const bool whole = members >= 2 * team.size;
  team.run([&](int thread) {
    if (!whole) {
      for (i64 p = 0; p < members; ++p) f(p, i64(thread), team.size, thread);
      return;
    }
    for (i64 p = next++; p < members; p = next++) f(p, i64(0), i64(1), thread);
  });
}

template <class T>
void run_encode(const Csr& matrix, Block<T> values, bool gaps, Block<T> weight1, Block<T> bias1, Block<T> weight2,
                Block<T> bias2, const GivenMask& mask, const GivenMask& last, Maybe<T> hidden, Block<T> out,
                i64 threads) {
  const auto [features, members, d] = sizes<3>("the first weight", weight1);
  const i64 classes = sizes<2>("the second bias", bias2)[1], n = matrix.n;
  Encoder<T> s{.x = {}, .weight1 = weight1.data(), .bias1 = read("the first bias", bias1, {members, d}),
               .weight2 = read("the second weight", weight2, {members, d, classes}),
               .bias2 = read("the second bias", bias2, {members, classes}),
               .hidden = write("hidden", hidden, {members, n, d}), .out = write("out", out, {n, members, classes}),
               .mask = checked(mask, members), .last = checked(last, members), .n = n, .features = features,
               .members = members, .d = d, .classes = classes};
  require(d > 0 && classes > 0, "a layer must have one number or more, got ", d, " and ", classes);
  const Matrix<T> x = matrix.with(read("values", values, {matrix.entries}));
  if (out.size() == 0) return;
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  Workspace room;
  s.x = entries_of(x, nullptr, n, matrix.entries, gaps, team, room);
  const i64 own = (features + classes) * TILE_WIDTH<T>;
  T* rooms = room.array<T>(own * team.size);
  by_member(team, members, [&](i64 p, i64 part, i64 parts, int thread) {
    encode(s, p, n * part / parts, n * (part + 1) / parts, rooms + thread * own);
  });
}

// `order` has the place of each entry's value, which Python checked.
template <class T>
void run_encode_back(const Csr& turned, Block<i64> order, Block<T> values, i64 block, Block<T> gradient,
                     Block<T> hidden, Block<T> weight2, double scale, Block<T> of_weight1, Block<T> of_bias1,
                     Block<T> of_weight2, i64 threads) {
  const auto [members, n, d] = sizes<3>("hidden", hidden);
  const i64 classes = sizes<3>("gradient", gradient)[2];
  const i64 features = sizes<3>("gradient of the first weight", of_weight1)[0];
  require(block > 0, "a block must have one row or more");
  const i64 blocks = (n + block - 1) / block;
  require(turned.n == blocks * features, "the matrix must have ", blocks * features, " rows, got ", turned.n);
  EncoderBack<T> s{.turned = {}, .hidden = hidden.data(),
                   .weight2 = read("the second weight", weight2, {members, d, classes}),
                   .gradient = read("gradient", gradient, {n, members, classes}),
                   .of_weight1 = write("gradient of the first weight", of_weight1, {features, members, d}),
                   .of_bias1 = write("gradient of the first bias", of_bias1, {members, d}),
                   .of_weight2 = write("gradient of the second weight", of_weight2, {members, d, classes}),
                   .scale = T(scale), .n = n, .features = features, .members = members, .d = d, .classes = classes,
                   .block = block};
  const Matrix<T> x = turned.with(read("values", values, {turned.entries}));
  const i64* places = read("order", order, {turned.entries});
  for (Block<T>* sum : {&of_weight1, &of_bias1, &of_weight2}) {
    if (n == 0) std::fill_n(sum->mutable_data(), sum->size(), T(0));
  }
  if (hidden.size() == 0) return;
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  Workspace room;
  s.turned = entries_of(x, places, turned.n, turned.entries, true, team, room);
  const bool shared = members < 2 * team.size && team.size > 1;
  const i64 height = std::min(block, n) * TILE_WIDTH<T>, own = (2 * classes + features) * TILE_WIDTH<T>;
  const i64 few = members * d, many = few * classes, sums = shared ? few + many : 0;
  T* rooms = room.array<T>(team.size * (height + own + sums));
  T *small = rooms + team.size * height, *parts_of_bias = small + team.size * own;
  T* parts_of_weight = parts_of_bias + team.size * few;
  std::vector<int> targets(size_t(team.size));
  by_member(team, members, [&](i64 p, i64 part, i64 parts, int thread) {
    EncoderBack<T> mine = s;
    if (shared) mine.of_bias1 = parts_of_bias + thread * few, mine.of_weight2 = parts_of_weight + thread * many;
    T* z = shared ? rooms : rooms + thread * height;
    encode_back(mine, p, part, parts, z, small + thread * own, [&] { if (shared) team.meet(targets[size_t(thread)]); });
    if (shared) team.meet(targets[size_t(thread)]);
  });
  if (!shared) return;
  add_up(parts_of_bias, team.size, few, s.of_bias1);
  add_up(parts_of_weight, team.size, many, s.of_weight2);
}

// ---- a layer of a stack

// Mean and variance of every column from those that each thread found for its share of rows.
void all_moments(const double* parts, const std::vector<i64>& counts, i64 columns, double* found) {
  for (i64 k = 0; k < columns; ++k) {
    double mean = 0, deviation = 0;
    i64 before = 0;
    for (size_t thread = 0; thread < counts.size(); before += counts[thread++]) {
      const double* part = parts + 2 * columns * i64(thread) + k;
      if (counts[thread]) merge(mean, deviation, before, counts[thread], *part, part[columns]);
    }
    found[k] = mean;
    found[columns + k] = deviation / double(before);
  }
}

// The rows of x, or of its left half plus A times its right half where a matrix is given; then scaled, shifted, cut at
// 0 and dropped. `moments` (2, members, d) gets every column's mean and variance.
template <class T>
void run_combine(const std::optional<Csr>& matrix, Maybe<T> values, Block<T> x, Block<T> out, Maybe<T> scale,
                 Maybe<T> shift, const GivenMask& mask, Maybe<double> moments, i64 threads) {
  const auto [n, members, wide] = sizes<3>("x", x);
  const i64 d = sizes<3>("out", out)[2], columns = members * d;
  const T* from = read("x", x, {n, members, matrix ? 2 * d : d});
  Combine<T> s{.matrix = {}, .own = from, .near = from + d, .out = write("out", out, {n, members, d}),
               .scale = read("scale", scale, {members, d}), .shift = read("shift", shift, {members, d}),
               .mask = checked(mask, members), .mean = nullptr, .deviation = nullptr, .n = n, .members = members, .d = d,
               .row = members * wide, .member = wide, .out_row = columns, .out_member = d};
  require(!matrix == !values, "values must be given with their matrix");
  if (matrix) {
    require(matrix->n == n, "the matrix must have ", n, " rows");
    s.matrix = matrix->with(read("values", values, {matrix->entries}));
  }
  require(!s.scale == !s.shift, "scale and shift must be given together");
  double* found = write("moments", moments, {2, members, d});
  if (out.size() == 0) return clear(moments);
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  Workspace room;
  double* parts = found ? room.array<double>(2 * columns * team.size) : nullptr;
  std::vector<i64> counts(size_t(team.size));
  in_shares(team, n, s.matrix.rows, [&](i64 lo, i64 hi, int thread) {
    Combine<T> part = s;
    if (found) part.mean = parts + 2 * columns * thread, part.deviation = part.mean + columns;
    counts[size_t(thread)] = hi - lo;
    combine(part, lo, hi);
  });
  if (found) all_moments(parts, counts, columns, found);
}

template <class T>
std::vector<Matrix<T>> checked(const std::vector<Csr>& matrices, const std::vector<Block<T>>& values, i64 n) {
  require(values.size() == matrices.size(), "values must be given with their matrices");
  std::vector<Matrix<T>> found;
  for (size_t k = 0; k < matrices.size(); ++k) {
    require(matrices[k].n == n, "the matrix must have ", n, " rows");
    found.push_back(matrices[k].with(read("values", values[k], {matrices[k].entries})));
  }
  return found;
}

// Entries and rows of a linear layer are weighed by their time: a number that is gathered takes about four times as long
// as one that is multiplied with a weight.
template <class T, class F>
void in_linear_shares(Team& team, i64 n, const std::vector<Matrix<T>>& matrices, i64 maps, i64 h, const F& f) {
  in_shares(team, n, matrices.empty() ? nullptr : matrices[0].rows, f, std::max<i64>(maps * h / 4, 1));
}

// X W_0 + A_1 X W_1 + ...; then scaled, shifted, cut at 0 and dropped, or with its moments, as in `combine`.
template <class T>
void run_linear(const std::vector<Csr>& matrices, const std::vector<Block<T>>& values, Block<T> x, Block<T> weight,
                Block<T> out, Maybe<T> scale, Maybe<T> shift, const GivenMask& mask, Maybe<double> moments,
                i64 threads) {
  const auto [n, members, d] = sizes<3>("x", x);
  const i64 h = sizes<3>("out", out)[2], maps = i64(matrices.size()) + 1, columns = members * h;
  const std::vector<Matrix<T>> all = checked(matrices, values, n);
  const T* from = read("weight", weight, {members, maps, d, h});
  T* to = write("out", out, {n, members, h});
  Linear<T> s{.matrices = all.data(), .x = x.data(), .weight = nullptr,
              .rest = {.matrix = {}, .own = to, .near = to, .out = to, .scale = read("scale", scale, {members, h}),
                       .shift = read("shift", shift, {members, h}), .mask = checked(mask, members), .mean = nullptr,
                       .deviation = nullptr, .n = n, .members = members, .d = h, .row = columns, .member = h,
                       .out_row = columns, .out_member = h},
              .n = n, .members = members, .maps = maps, .d = d, .h = h, .packed = rounded_up(h, PANEL<T>) * d};
  require(!s.rest.scale == !s.rest.shift, "scale and shift must be given together");
  require(s.rest.scale || !s.rest.mask.keys, "a mask must be given with scale and shift");
  double* found = write("moments", moments, {2, members, h});
  if (out.size() == 0) return clear(moments);
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  Workspace room;
  const i64 own = ROWS * apart<T>(d);
  T *packed = room.array<T>(members * maps * s.packed), *rooms = room.array<T>(team.size * own);
  double* parts = found ? room.array<double>(2 * (columns + h) * team.size) : nullptr;
  for (i64 k = 0; k < members * maps; ++k) pack(from + k * d * h, h, 1, d, h, packed + k * s.packed);
  s.weight = packed;
  std::vector<i64> counts(size_t(team.size));
  in_linear_shares(team, n, all, maps, h, [&](i64 lo, i64 hi, int thread) {
    Linear<T> part = s;
    if (found) part.rest.mean = parts + 2 * columns * thread, part.rest.deviation = part.rest.mean + columns;
    counts[size_t(thread)] = hi - lo;
    linear(part, lo, hi, rooms + thread * own, found ? parts + 2 * columns * team.size + 2 * h * thread : nullptr);
  });
  if (found) all_moments(parts, counts, columns, found);
}

// Gradients of x, where it is wanted, and the weight from that of X W_0 + A_1 X W_1 + ...; the matrices are the transposes.
template <class T>
void run_linear_back(const std::vector<Csr>& matrices, const std::vector<Block<T>>& values, Block<T> of_u, Block<T> x,
                     Block<T> weight, Maybe<T> of_x, Block<T> of_weight, i64 threads) {
  const auto [n, members, d] = sizes<3>("x", x);
  const i64 h = sizes<3>("gradient", of_u)[2], maps = i64(matrices.size()) + 1, all = members * maps * d * h;
  const std::vector<Matrix<T>> turned = checked(matrices, values, n);
  const T* from = read("weight", weight, {members, maps, d, h});
  LinearBack<T> s{.matrices = turned.data(), .x = x.data(), .of_u = read("gradient", of_u, {n, members, h}),
                  .weight = nullptr, .of_x = write("gradient of x", of_x, {n, members, d}),
                  .of_weight = write("gradient of the weight", of_weight, {members, maps, d, h}), .n = n,
                  .members = members, .maps = maps, .d = d, .h = h, .packed = rounded_up(d, PANEL<T>) * h};
  T* total = s.of_weight;
  py::gil_scoped_release unlocked;
  std::fill_n(total, all, T(0));
  if (h == 0 && s.of_x) std::fill_n(s.of_x, n * members * d, T(0));
  if (n * members * d == 0 || h == 0) return;
  Team team(std::min(threads, n));
  Workspace room;
  const i64 own = rounded_up(room_for_linear_back<T>(maps, d, h), LINE<T>);
  T *packed = room.array<T>(members * maps * s.packed), *rooms = room.array<T>(team.size * own);
  T* parts = room.array<T>(team.size * all);
  for (i64 k = 0; k < members * maps; ++k) pack(from + k * d * h, 1, h, h, d, packed + k * s.packed);
  s.weight = packed;
  in_linear_shares(team, n, turned, maps, h, [&](i64 lo, i64 hi, int thread) {
    LinearBack<T> part = s;
    part.of_weight = parts + thread * all;
    if (lo == hi) std::fill_n(part.of_weight, all, T(0));
    linear_back(part, lo, hi, rooms + thread * own);
  });
  add_up(parts, team.size, all, total);
}

// The right half of a block (n, members, 2 d) becomes A times its left half.
template <class T> void run_gather(const Csr& matrix, Block<T> values, Block<T> block, i64 threads) {
  const auto [n, members, wide] = sizes<3>("block", block);
  const i64 d = wide / 2, row = members * wide;
  T* data = write("block", block, {matrix.n, members, 2 * d});
  const Combine<T> s{.matrix = matrix.with(read("values", values, {matrix.entries})), .own = nullptr, .near = data,
                     .out = data + d, .scale = nullptr, .shift = nullptr, .mask = {}, .mean = nullptr,
                     .deviation = nullptr, .n = n, .members = members, .d = d, .row = row, .member = wide,
                     .out_row = row, .out_member = wide};
  if (block.size() == 0) return;
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  in_shares(team, n, s.matrix.rows, [&](i64 lo, i64 hi, int) { combine(s, lo, hi); });
}

// Numbers of a member in each row of a gradient of u (n, members, d), or of one with room for as many behind them.
template <class T> i64 row_of(const Maybe<T>& of_u, i64 d) {
  return of_u && of_u->ndim() == 3 && of_u->shape(2) == 2 * d ? 2 * d : d;
}

// Gradients of an activation; `sums` (2, members, d) gets those of shift and scale. With `lines` (5, members, d), which
// are mean and inverse deviation of u and the slope, offset and pull of its gradient, u was normalised by columns.
template <class T>
void run_activation(Block<T> gradient, Block<T> y, Maybe<T> u, double keep, Maybe<T> lines, Maybe<double> sums,
                    Maybe<T> of_u, i64 threads) {
  const auto [n, members, d] = sizes<3>("gradient", gradient);
  const i64 columns = members * d, wide = row_of(of_u, d);
  const T* line = read("lines", lines, {5, members, d});
  Activation<T> s{.gradient = gradient.data(), .y = read("y", y, {n, members, d}), .u = read("u", u, {n, members, d}),
                  .keep = T(keep), .mean = line, .inverse = line ? line + columns : line,
                  .slope = line ? line + 2 * columns : line, .offset = line ? line + 3 * columns : line,
                  .pull = line ? line + 4 * columns : line, .of_shift = nullptr, .of_scale = nullptr,
                  .of_u = write("gradient of u", of_u, {n, members, wide}), .members = members, .d = d,
                  .out_row = members * wide, .out_member = wide};
  require(!s.u == !line, "u and lines must be given together");
  double* total = write("sums", sums, {2, members, d});
  if (gradient.size() == 0) return clear(sums);
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  Workspace room;
  double* parts = total ? room.array<double>(2 * columns * team.size) : nullptr;
  in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int thread) {
    Activation<T> part = s;
    if (total) {
      part.of_shift = parts + 2 * columns * thread;
      part.of_scale = part.of_shift + columns;
      sum_columns(part, lo, hi);
    }
    if (s.of_u) spread(part, lo, hi);
  });
  if (total) add_up(parts, team.size, 2 * columns, total);
}

// y = drop(max(scale * norm(u) + shift, 0)) with every member's row normalised; or, where `gradient` is given, back from
// y: `sums` (2, members, d) gets the gradients of shift and scale.
template <class T>
void run_row_norm(Block<T> u, Block<T> scale, Maybe<T> shift, const GivenMask& mask, double epsilon, Block<T> y,
                  Maybe<T> gradient, double keep, Maybe<T> of_u, Maybe<double> sums, i64 threads) {
  const auto [n, members, d] = sizes<3>("u", u);
  const i64 columns = members * d, wide = row_of(of_u, d);
  require(!shift != !gradient, "either shift or gradient must be given");
  require(!gradient == !of_u && !gradient == !sums, "gradient, gradient of u and sums must be given together");
  RowNorm<T> s{.u = u.data(), .scale = read("scale", scale, {members, d}), .shift = read("shift", shift, {members, d}),
               .gradient = read("gradient", gradient, {n, members, d}), .y = write("y", y, {n, members, d}),
               .of_u = write("gradient of u", of_u, {n, members, wide}), .of_shift = nullptr, .of_scale = nullptr,
               .mask = checked(mask, members), .epsilon = T(epsilon), .members = members, .d = d, .out_member = wide};
  double* total = write("sums", sums, {2, members, d});
  if (total) s.mask.scale = keep;
  if (u.size() == 0) return clear(sums);
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  Workspace room;
  double* parts = total ? room.array<double>(2 * columns * team.size) : nullptr;
  T* chunks = total ? room.array<T>(2 * columns * team.size) : nullptr;
  if (total) std::fill_n(parts, 2 * columns * team.size, 0.0);
  in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int thread) {
    if (!total) return normalise_rows(s, lo, hi);
    RowNorm<T> part = s;
    double* sum = parts + 2 * columns * thread;
    part.of_shift = chunks + 2 * columns * thread;
    part.of_scale = part.of_shift + columns;
    for (i64 from = lo; from < hi; from += CHUNK) {
      std::fill_n(part.of_shift, 2 * columns, T(0));
      normalise_rows_back(part, from, std::min(hi, from + CHUNK));
      for (i64 k = 0; k < 2 * columns; ++k) sum[k] += part.of_shift[k];
    }
  });
  if (total) add_up(parts, team.size, 2 * columns, total);
}

// ---- loss and scores

template <class T>
void run_cross_entropy(Block<T> logits, Block<i64> labels, Block<bool> training, Maybe<double> weights,
                       double smoothing, Block<T> loss, Block<T> gradient, i64 threads) {
  const auto [n, members, classes] = sizes<3>("logits", logits);
  require(classes > 0, "logits must be of one class or more");
  CrossEntropy<T> s{.logits = logits.data(), .labels = checked_labels(labels, n, classes),
                    .training = bytes("training", training, {n, members}),
                    .weights = read("weights", weights, {classes}), .share = nullptr,
                    .gradient = write("gradient", gradient, {n, members, classes}), .sum = nullptr,
                    .members = members, .classes = classes, .smoothing = smoothing};
  T* mean = write("loss", loss, {members});
  py::gil_scoped_release unlocked;
  // Sums of chunks are added in their order, so that threads change no bit.
  const i64 chunks = (n + CHUNK - 1) / CHUNK, own = SIDE * classes;
  Team team(std::min(threads, chunks));
  Workspace room;
  double *share = room.array<double>(2 * members), *sum = share + members;
  double* parts = room.array<double>(chunks * members);
  T* rooms = room.array<T>(own * team.size);
  std::fill_n(share, 2 * members, 0.0);
  for (i64 i = 0; i < n; ++i) add_where(s.training + i * members, s.weight(i), share, members);
  for (i64 p = 0; p < members; ++p) share[p] = 1 / share[p];
  s.share = share;
  in_shares(team, chunks, nullptr, [&, n = n, members = members](i64 lo, i64 hi, int thread) {
    CrossEntropy<T> part = s;
    for (i64 k = lo; k < hi; ++k) {
      part.sum = parts + k * members;
      part.run(k * CHUNK, std::min(n, (k + 1) * CHUNK), rooms + thread * own);
    }
  });
  if (chunks) add_up(parts, chunks, members, sum);
  for (i64 p = 0; p < members; ++p) mean[p] = T(sum[p] * share[p]);
}

template <class T>
void run_evaluate(Block<T> logits, Block<i64> labels, Block<bool> masks, Block<u8> predicted, Block<i64> counts,
                  i64 threads) {
  const auto [n, members, classes] = sizes<3>("logits", logits);
  require(classes > 0 && classes <= 256, "logits must be of 1 to 256 classes, got ", classes);
  const Scores<T> s{.logits = logits.data(), .labels = checked_labels(labels, n, classes),
                    .masks = bytes("masks", masks, {3, n, members}),
                    .predicted = write("predicted", predicted, {n, members}),
                    .counts = write("counts", counts, {4, members}), .n = n, .members = members, .classes = classes};
  py::gil_scoped_release unlocked;
  Team team(std::min(threads, n));
  Workspace room;
  const i64 all = 4 * members;
  i64* parts = room.array<i64>(all * team.size);
  in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int thread) {
    Scores<T> part = s;
    part.counts = parts + thread * all;
    evaluate(part, lo, hi);
  });
  add_up(parts, team.size, all, s.counts);
}

void run_agreeing(Block<i32> pairs, Block<u8> classes, Block<i64> counts, i64 threads) {
  const i64 edges = sizes<2>("pairs", pairs)[1];
  const auto [n, members] = sizes<2>("classes", classes);
  const i32* ends = read("pairs", pairs, {2, edges});
  const u8* given = classes.data();
  i64* total = write("counts", counts, {members});
  bool inside = true;
  {
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, edges));
    Workspace room;
    u8* padded = room.array<u8>(n * members + WIDEST<u8>);
    i64* parts = room.array<i64>(members * team.size);
    std::copy_n(given, n * members, padded);
    std::atomic<bool> right{true};
    in_shares(team, edges, nullptr, [&, n = n, members = members](i64 lo, i64 hi, int thread) {
      if (!count_agreeing({ends, ends + edges, padded, parts + thread * members, n, members}, lo, hi)) right = false;
    });
    if (inside = right; inside) add_up(parts, team.size, members, total);
  }
  require(inside, "pairs must be of nodes from 0 to ", n - 1);
}

// ---- the module

template <class Result, class... Types> void add(py::module_& m, const char* name, Result (*f)(Types...)) {
  m.def(name, f, (void(std::type_identity<Types>{}), py::arg().noconvert())...);
}

template <class T> void add_kernels(py::module_& m, const char* name) {
  py::class_<Operator<T>>(m, name, py::module_local());
  add(m, "operator", make_operator<T>);
  add(m, "series", run_series<T>);
  add(m, "multiply", run_multiply<T>);
  add(m, "drop", run_drop<T>);
  add(m, "backward", run_backward<T>);
  add(m, "encode", run_encode<T>);
  add(m, "encode_back", run_encode_back<T>);
  add(m, "adam", run_adam<T>);
  add(m, "combine", run_combine<T>);
  add(m, "linear", run_linear<T>);
  add(m, "linear_back", run_linear_back<T>);
  add(m, "gather", run_gather<T>);
  add(m, "activation", run_activation<T>);
  add(m, "row_norm", run_row_norm<T>);
  add(m, "cross_entropy", run_cross_entropy<T>);
  add(m, "evaluate", run_evaluate<T>);
}

PYBIND11_MODULE(MODULE_NAME, m) {
  pool();  // so that every fork from here on finds it made
  py::class_<Csr>(m, "Csr", py::module_local())
      .def(py::init<Block<i32>, Block<i32>>(), py::arg().noconvert(), py::arg().noconvert());
  add(m, "agreeing", run_agreeing);
  add_kernels<float>(m, "FloatOperator");
  add_kernels<double>(m, "DoubleOperator");
}

}  // namespace newtonnet
