// A layer of a stack: what is added up, normalised, cut at 0 and dropped, in as few passes over memory as there can be.
#pragma once
#include "kernels.h"

namespace newtonnet {

constexpr i64 CHUNK = 256;  // rows that are added up in T before their sum goes to a double

// out = x + A x', then max(scale * out + shift, 0), then dropout; each step where it is given.
template <class T> struct Combine {
  Matrix<T> matrix;          // without rows nothing is gathered
  const T *own, *near;       // rows of `row` numbers, of which each member has `member`; own: null for 0
  T* out;                    // rows of `out_row` numbers, of which each member has `out_member`
  const T *scale, *shift;    // (members, d), or null
  Mask mask;
  double *mean, *deviation;  // (members, d): mean and summed squared deviation of the rows, or null
  i64 n, members, d, row, member, out_row, out_member;
};

// Mean and summed squared deviation of `before` rows, to which those of `more` others are added.
INLINE void merge(double& mean, double& deviation, i64 before, i64 more, double their_mean, double their_deviation) {
  const double delta = their_mean - mean, all = double(before + more);
  deviation += their_deviation + delta * delta * double(before) * double(more) / all;
  mean += delta * double(more) / all;
}

template <class T> void combine(const Combine<T>& given, i64 lo, i64 hi) {
  each_tile<T>(given.members, given.d, [&]<class R, class Whole>(R, Whole whole, i64 p, i64 first, i64 used) NOINLINE {
    const Combine<T> s = given;
    const i64 left = whole ? R::width : used, column = p * s.d + first, shift = p * s.member + first;
    const T keep = T(s.mask.scale), *near = s.near + shift;
    T last_row[R::width];  // registers of a row that is not whole reach past the end of the last row
    if (!whole && s.matrix.rows) store_row(last_row, load_row<R>(near + (s.n - 1) * s.row, used), R::width);
    R scale = s.scale ? load_row<R>(s.scale + column, left) : R{}, add = s.scale ? load_row<R>(s.shift + column, left) : R{};
    alignas(64) u16 bits[R::width + HASHED];
    const auto value = [&](i64 i) {
      R v{};
      if (!whole && s.matrix.rows && !s.own) {  // others may write behind the rows now
        v = row_sum<R, SIDE_BY_SIDE<R>, true, true, !Whole::value>(
            s.matrix, i, [&](i32 c) { return near + i64(u32(c)) * s.row; }, used);
      } else if (s.matrix.rows) {
        v = row_sum<R, SIDE_BY_SIDE<R>, true, true>(s.matrix, i, [&](i32 c) {
          const T* from = near + i64(u32(c)) * s.row;
          return whole || c != s.n - 1 ? from : last_row;
        });
      }
      if (s.own) {
        R own = load_row<R>(s.own + i * s.row + shift, left);
        each([](int, auto& a, auto& b) { a += b; }, v, own);
      }
      return v;
    };
    double mean[R::width] = {}, deviation[R::width] = {};
    R centre = s.mean && lo < hi ? value(lo) : R{};
    for (i64 from = lo; from < hi; from += CHUNK) {
      const i64 to = std::min(hi, from + CHUNK);
      R sum{}, squares{};
      for (i64 i = from; i < to; ++i) {
        R v = value(i);
        if (s.scale) each([]<class V>(int, V& x, V& a, V& b) { x = x * a + b, x = x < 0 ? V{} : x; }, v, scale, add);
        if (s.mask.keys) {
          const i64 word = i * words(s.d) + first / PER_WORD;
          for (i64 j = 0; j < used; j += HASHED) hash(bits + j, s.mask.keys[p], u64(word + j / PER_WORD));
          each([&](int o, auto& x) { x = dropped(x, bits + o, s.mask.threshold, keep); }, v);
        }
        store_row(s.out + i * s.out_row + p * s.out_member + first, v, left);
        if (s.mean) each([](int, auto x, auto& c, auto& a, auto& b) { x -= c, a += x, b += x * x; }, v, centre, sum, squares);
      }
      if (!s.mean) continue;
      T parts[3][R::width];
      store_row(parts[0], centre, R::width), store_row(parts[1], sum, R::width), store_row(parts[2], squares, R::width);
      for (int k = 0; k < R::width; ++k) {
        const double sum = double(parts[1][k]), shift = sum / double(to - from);
        merge(mean[k], deviation[k], from - lo, to - from, double(parts[0][k]) + shift,
              std::max(0.0, double(parts[2][k]) - shift * sum));
        parts[0][k] = T(mean[k]);
      }
      centre = load_row<R>(parts[0], R::width);
    }
    if (!s.mean) return;
    std::copy_n(mean, used, s.mean + column);
    std::copy_n(deviation, used, s.deviation + column);
  });
}

// ---- dense products by tiles that stay in registers

constexpr int TILE_ROWS = REGISTER_BYTES == 64 ? 12 : 6;   // with two registers each they fill the processor's
template <class T> constexpr i64 PANEL = 2 * LANES<T>;      // columns of a tile
template <class T> constexpr i64 LINE = 64 / i64(sizeof(T));  // numbers in a line of the caches
constexpr i64 ROWS = 96;  // rows of a block that are worked on while they are in a core's own cache

INLINE i64 rounded_up(i64 count, i64 to) { return (count + to - 1) / to * to; }
// Rows this far apart start at different places of the cache, however wide they are.
template <class T> INLINE i64 apart(i64 width) { return rounded_up(width, 2 * LINE<T>) + LINE<T>; }

template <class T> struct Dense {  // C = A B, or C += A B
  const T* a;        // number (i, k) at i * a_row + k * a_step
  i64 a_row, a_step;
  const T* b;        // row k of panel j, PANEL numbers, at j * b_panel + k * b_step
  i64 b_step, b_panel;
  T* c;
  i64 c_row, rows, inner, columns;
  bool add;
};

template <int R, class T> NOINLINE void tile(const Dense<T>& s, const T* a, const T* b, T* c, i64 used) {
  using V = Vector<T, LANES<T>>;
  const i64 row = s.a_row, step = s.a_step, b_step = s.b_step;
  V left[R] = {}, right[R] = {};
  for (i64 k = s.inner; k > 0; --k, a += step, b += b_step) {
    const V x = load<V>(b), y = load<V>(b + LANES<T>);
#pragma GCC unroll 12
    for (int r = 0; r < R; ++r) left[r] += x * a[r * row], right[r] += y * a[r * row];
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r, c += s.c_row) {
    const i64 more = std::max<i64>(used - LANES<T>, 0);
    if (s.add) left[r] += load_part<V>(c, used), right[r] += load_part<V>(c + LANES<T>, more);
    store_part(c, left[r], used);
    store_part(c + LANES<T>, right[r], more);
  }
}

template <int R = TILE_ROWS, class T> INLINE void tile_of(i64 rows, const Dense<T>& s, const T* a, const T* b, T* c, i64 used) {
  if constexpr (R > 1) {
    if (rows < R) return tile_of<R - 1>(rows, s, a, b, c, used);
  }
  tile<R>(s, a, b, c, used);
}

template <class T> void multiply(const Dense<T>& s) {
  for (i64 j = 0; j < s.columns; j += PANEL<T>) {
    for (i64 i = 0; i < s.rows; i += TILE_ROWS) {
      tile_of(s.rows - i, s, s.a + i * s.a_row, s.b + j / PANEL<T> * s.b_panel, s.c + i * s.c_row + j, s.columns - j);
    }
  }
}

// A matrix of `inner` rows in panels for a product; its number (k, j) is at k * row + j * step.
template <class T> void pack(const T* from, i64 row, i64 step, i64 inner, i64 columns, T* to) {
  for (i64 j = 0; j < columns; j += PANEL<T>) {
    for (i64 k = 0; k < inner; ++k) {
      for (i64 c = j; c < j + PANEL<T>; ++c) *to++ = c < columns ? from[k * row + c * step] : T(0);
    }
  }
}

// ---- a linear layer on a graph: U = X W_0 + A_1 X W_1 + ..., and its gradients

template <class T> struct Linear {
  const Matrix<T>* matrices;  // A_1 to A_{maps - 1}
  const T *x, *weight;        // (n, members, d); (members, maps, d, h) in panels, each map of `packed` numbers
  Combine<T> rest;            // what follows; its rows are read and written at `out`
  i64 n, members, maps, d, h, packed;
};

// Rows lo to hi of A x for one member into `out`, the top one first.
template <class T>
void gather(const Matrix<T>& matrix, const T* x, i64 n, i64 row, i64 d, T* out, i64 out_row, i64 lo, i64 hi) {
  combine(Combine<T>{.matrix = {matrix.rows + lo, matrix.columns, matrix.values}, .own = nullptr, .near = x, .out = out,
                     .scale = nullptr, .shift = nullptr, .mask = {}, .mean = nullptr, .deviation = nullptr, .n = n,
                     .members = 1, .d = d, .row = row, .member = d, .out_row = out_row, .out_member = d},
          0, hi - lo);
}

// `room` for ROWS rows and for the moments of one member.
template <class T> void linear(const Linear<T>& s, i64 lo, i64 hi, T* room, double* moments) {
  const i64 row = s.members * s.d, out_row = s.members * s.h, between = apart<T>(s.d);
  for (i64 p = 0; p < s.members; ++p) {
    Combine<T> rest = s.rest;  // of this member alone
    const i64 column = p * s.h;
    rest.out += column, rest.own = rest.out, rest.members = 1;
    if (rest.scale) rest.scale += column, rest.shift += column;
    if (rest.mask.keys) rest.mask.keys += p;
    double *mean = rest.mean, *deviation = rest.deviation;
    if (mean) {
      std::fill_n(mean += column, s.h, 0.0), std::fill_n(deviation += column, s.h, 0.0);
      rest.mean = moments, rest.deviation = moments + s.h;
    }
    for (i64 from = lo; from < hi; from += ROWS) {
      const i64 to = std::min(hi, from + ROWS);
      Dense<T> product{s.x + from * row + p * s.d, row, 1, s.weight + p * s.maps * s.packed, PANEL<T>, s.d * PANEL<T>,
                       rest.out + from * out_row, out_row, to - from, s.d, s.h, false};
      multiply(product);
      product.a = room, product.a_row = between, product.add = true;
      for (i64 k = 1; k < s.maps; ++k) {
        gather(s.matrices[k - 1], s.x + p * s.d, s.n, row, s.d, room, between, from, to);
        product.b += s.packed;
        multiply(product);
      }
      if (rest.scale || mean) combine(rest, from, to);
      for (i64 j = 0; mean && j < s.h; ++j) merge(mean[j], deviation[j], from - lo, to - from, moments[j], moments[s.h + j]);
    }
  }
}

template <class T> struct LinearBack {
  const Matrix<T>* matrices;  // the transposes of A_1 to A_{maps - 1}
  const T *x, *of_u, *weight;  // (n, members, d), (n, members, h); (members, maps, h, d) in panels of `packed` numbers
  T *of_x, *of_weight;         // (n, members, d), or null; (members, maps, d, h) of these rows alone
  i64 n, members, maps, d, h, packed;
};

template <class T> i64 room_for_linear_back(i64 maps, i64 d, i64 h) {
  return ROWS * (apart<T>(d) + apart<T>(maps * h)) + PANEL<T>;  // the last panel may reach behind
}

// Both gradients of a block come from the rows of U' and A' U', which are gathered once.
template <class T> void linear_back(const LinearBack<T>& s, i64 lo, i64 hi, T* room) {
  const i64 row = s.members * s.d, u_row = s.members * s.h, x_apart = apart<T>(s.d), u_apart = apart<T>(s.maps * s.h);
  T *x = room, *u = room + ROWS * x_apart;
  for (i64 p = 0; p < s.members; ++p) {
    const T *of_u = s.of_u + p * s.h, *weight = s.weight + p * s.maps * s.packed;
    T* of_weight = s.of_weight + p * s.maps * s.d * s.h;
    for (i64 from = lo; from < hi; from += ROWS) {
      const i64 rows = std::min(hi - from, ROWS);
      for (i64 i = 0; i < rows; ++i) {
        std::copy_n(s.x + (from + i) * row + p * s.d, s.d, x + i * x_apart);
        std::copy_n(of_u + (from + i) * u_row, s.h, u + i * u_apart);
      }
      for (i64 k = 1; k < s.maps; ++k) gather(s.matrices[k - 1], of_u, s.n, u_row, s.h, u + k * s.h, u_apart, from, from + rows);
      for (i64 k = 0; k < s.maps; ++k) {
        if (s.of_x) {
          multiply<T>({u + k * s.h, u_apart, 1, weight + k * s.packed, PANEL<T>, s.h * PANEL<T>,
                       s.of_x + from * row + p * s.d, row, rows, s.h, s.d, k > 0});
        }
        multiply<T>({x, 1, x_apart, u + k * s.h, u_apart, PANEL<T>, of_weight + k * s.d * s.h, s.h, s.d, rows, s.h, from > lo});
      }
    }
  }
}

// ---- gradients of what follows the sum

// From the gradient of y = drop(max(z, 0)) to that of z, which is 0 where y is, and on to that of the layer's sum u.
template <class T> struct Activation {
  const T *gradient, *y, *u;       // (n, members, d); u: null where nothing was normalised
  T keep;                          // what dropout multiplied by
  const T *mean, *inverse;         // (members, d): of u, and one over its standard deviation
  const T *slope, *offset, *pull;  // (members, d): of_u = slope * of_z + offset + pull * u
  double *of_shift, *of_scale;     // (members, d): sums of of_z, and of of_z times the normalised u
  T* of_u;                         // rows of `out_row` numbers, of which each member has `out_member`
  i64 members, d, out_row, out_member;
};

template <class R, class T> INLINE R of_z(const Activation<T>& s, i64 at, i64 left) {
  R g = load_row<R>(s.gradient + at, left), y = load_row<R>(s.y + at, left);
  each([&]<class V>(int, V& a, V& b) { a = b > 0 ? a * s.keep : V{}; }, g, y);
  return g;
}

template <class T> void sum_columns(const Activation<T>& given, i64 lo, i64 hi) {
  each_tile<T>(given.members, given.d, [&]<class R, class Whole>(R, Whole whole, i64 p, i64 first, i64 used) NOINLINE {
    const Activation<T> s = given;
    const i64 left = whole ? R::width : used, column = p * s.d + first, row = s.members * s.d;
    R mean = s.u ? load_row<R>(s.mean + column, left) : R{}, inverse = s.u ? load_row<R>(s.inverse + column, left) : R{};
    double total[2][R::width] = {};
    for (i64 from = lo; from < hi; from += CHUNK) {
      R sum{}, product{};
      for (i64 i = from; i < std::min(hi, from + CHUNK); ++i) {
        R z = of_z<R>(s, i * row + column, left), u = s.u ? load_row<R>(s.u + i * row + column, left) : R{};
        each([](int, auto& g, auto& x, auto& m, auto& r, auto& a, auto& b) { a += g, b += g * ((x - m) * r); },
             z, u, mean, inverse, sum, product);
      }
      T parts[2][R::width];
      store_row(parts[0], sum, R::width), store_row(parts[1], product, R::width);
      for (int k = 0; k < R::width; ++k) total[0][k] += parts[0][k], total[1][k] += parts[1][k];
    }
    std::copy_n(total[0], used, s.of_shift + column);
    std::copy_n(total[1], used, s.of_scale + column);
  });
}

template <class T> void spread(const Activation<T>& given, i64 lo, i64 hi) {
  each_tile<T>(given.members, given.d, [&]<class R, class Whole>(R, Whole whole, i64 p, i64 first, i64 used) NOINLINE {
    const Activation<T> s = given;
    const i64 left = whole ? R::width : used, column = p * s.d + first, row = s.members * s.d;
    R slope{}, offset{}, pull{};
    if (s.u) {
      slope = load_row<R>(s.slope + column, left);
      offset = load_row<R>(s.offset + column, left);
      pull = load_row<R>(s.pull + column, left);
    }
    for (i64 i = lo; i < hi; ++i) {
      R z = of_z<R>(s, i * row + column, left);
      if (s.u) {
        R u = load_row<R>(s.u + i * row + column, left);
        each([](int, auto& g, auto& x, auto& a, auto& b, auto& c) { g = g * a + b + x * c; }, z, u, slope, offset, pull);
      }
      store_row(s.of_u + i * s.out_row + p * s.out_member + first, z, left);
    }
  });
}

// ---- the same with every row of a member normalised over its own numbers

// The sum over j < d of f(kind, j), where f returns as many numbers from j on as `kind` has lanes.
template <class T, class F> INLINE T row_total(i64 d, const F& f) {
  Vector<T, LANES<T>> sum{};
  T rest = 0;
  i64 j = 0;
  for (; j + LANES<T> <= d; j += LANES<T>) sum += f(sum, j);
  for (; j < d; ++j) rest += f(T(0), j);
  for (int k = 0; k < LANES<T>; ++k) rest += sum[k];
  return rest;
}

template <class T> struct RowNorm {  // y = drop(max(scale * norm(u) + shift, 0))
  const T *u, *scale, *shift, *gradient;  // (n, members, d), (members, d) twice; gradient: of y
  T *y, *of_u, *of_shift, *of_scale;      // (n, members, d) twice, with rows of `out_member` in of_u; sums of a chunk
  Mask mask;
  T epsilon;
  i64 members, d, out_member;

  std::pair<T, T> moments(const T* row) const {  // the mean, and one over the standard deviation
    const T mean = row_total<T>(d, [&]<class V>(V, i64 j) { return load<V>(row + j); }) / T(d);
    const T variance = row_total<T>(d, [&]<class V>(V, i64 j) {
      const V x = load<V>(row + j) - mean;
      return x * x;
    }) / T(d);
    return {mean, 1 / std::sqrt(variance + epsilon)};
  }
};

template <class T> void normalise_rows(const RowNorm<T>& s, i64 lo, i64 hi) {
  using V = Vector<T, LANES<T>>;
  alignas(64) u16 bits[HASHED];
  for (i64 row = lo * s.members; row < hi * s.members; ++row) {
    const i64 p = row % s.members;
    const T *u = s.u + row * s.d, *scale = s.scale + p * s.d, *shift = s.shift + p * s.d;
    const auto [mean, inverse] = s.moments(u);
    for (i64 j = 0; j < s.d; j += LANES<T>) {
      const i64 left = s.d - j, in = j % HASHED;
      V z = (load_part<V>(u + j, left) - mean) * inverse * load_part<V>(scale + j, left) + load_part<V>(shift + j, left);
      z = z < 0 ? V{} : z;
      if (s.mask.keys) {
        if (in == 0) hash(bits, s.mask.keys[p], u64(row / s.members * words(s.d) + j / PER_WORD));
        z = dropped(z, bits + in, s.mask.threshold, T(s.mask.scale));
      }
      store_part(s.y + row * s.d + j, z, left);
    }
  }
}

template <class T> void normalise_rows_back(const RowNorm<T>& s, i64 lo, i64 hi) {
  using V = Vector<T, LANES<T>>;
  const T keep = T(s.mask.scale);
  for (i64 row = lo * s.members; row < hi * s.members; ++row) {
    const i64 p = row % s.members * s.d;
    const T *u = s.u + row * s.d, *y = s.y + row * s.d, *g = s.gradient + row * s.d, *scale = s.scale + p;
    T* to = s.of_u + row * s.out_member;
    const T mean = s.moments(u).first, inverse = s.moments(u).second;
    const auto of_normalised = [&]<class W>(W, i64 j) {
      const W z = load<W>(y + j);
      return W(z > 0 ? load<W>(g + j) * keep * load<W>(scale + j) : W{});
    };
    const T first = row_total<T>(s.d, of_normalised) / T(s.d);
    const T second = row_total<T>(s.d, [&]<class W>(W kind, i64 j) {
      return W(of_normalised(kind, j) * ((load<W>(u + j) - mean) * inverse));
    }) / T(s.d);
    for (i64 j = 0; j < s.d; j += LANES<T>) {
      const i64 left = s.d - j;
      const V x = (load_part<V>(u + j, left) - mean) * inverse, z = load_part<V>(y + j, left);
      const V of_z = z > 0 ? load_part<V>(g + j, left) * keep : V{};
      store_part(to + j, V((of_z * load_part<V>(scale + j, left) - first - x * second) * inverse), left);
      store_part(s.of_shift + p + j, V(load_part<V>(s.of_shift + p + j, left) + of_z), left);
      store_part(s.of_scale + p + j, V(load_part<V>(s.of_scale + p + j, left) + of_z * x), left);
    }
  }
}

}  // namespace newtonnet
