// Random calls of the kernels without Python, for the sanitizers: driver CALLS SEED INTERRUPTS FAULTS. Results are
// compared with plain loops in double, while signals arrive and, if FAULTS is not 0, allocations and thread starts fail.
// Arrays are as long as they must be, so that an access outside them is found.
#include <dlfcn.h>
#include <signal.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "encoder.h"
#include "layer.h"
#include "scores.h"

using namespace newtonnet;
static std::mt19937_64 dice;
static std::atomic<int> signals{0};
static std::atomic<i64> faults{0}, until_memory_fails{0}, until_thread_fails{0};

void* operator new(size_t size) {
  void* made = until_memory_fails.load() > 0 && --until_memory_fails == 0 ? nullptr : std::malloc(size);
  if (!made) ++faults, throw std::bad_alloc();
  return made;
}
void operator delete(void* given) noexcept { std::free(given); }
void operator delete(void* given, size_t) noexcept { std::free(given); }

extern "C" int pthread_create(pthread_t* id, const pthread_attr_t* how, void* (*f)(void*), void* given) noexcept {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (until_thread_fails.load() > 0 && --until_thread_fails == 0) return ++faults, EAGAIN;
  return real(id, how, f, given);
}

static i64 below(i64 n) { return i64(dice() % u64(n)); }
template <class T> using Numbers = std::vector<T>;

template <class T> Numbers<T> numbers(i64 count) {
  Numbers<T> x(size_t(count), T(0));
  for (T& v : x) v = T(below(2001) - 1000) / 500;
  return x;
}

template <class T, class F> void same(const char* what, const Numbers<T>& found, const F& expected) {
  const i64 step = 1 + i64(found.size()) / 256;  // of many numbers some, or the plain loops would take all the time
  for (size_t k = size_t(below(step)); k < found.size(); k += size_t(step)) {
    const double e = expected(i64(k)), close = (sizeof(T) == 4 ? 2e-3 : 1e-9) * (1 + std::abs(e));
    if (std::abs(double(found[k]) - e) <= close) continue;
    std::printf("%s: number %zu of %zu is %g, expected %g\n", what, k, found.size(), double(found[k]), e);
    std::exit(1);
  }
}

template <class F> void in_shares(i64 n, i64 threads, const F& f) {
  Team team(std::min(threads, n));
  team.run([&](int t) { f(n * t / team.size, n * (t + 1) / team.size, t, team); });
}

template <class T> struct Sparse {  // n x m, and the same dense
  Numbers<i32> rows{0}, columns;
  Numbers<T> values;
  Numbers<double> dense;
  Sparse(i64 n, i64 m) : dense(size_t(n * m), 0.0) {
    const i64 share = below(101);
    for (i64 i = 0; i < n; ++i) {
      for (i64 j = 0; j < m; ++j) {
        if (below(100) >= share) continue;
        columns.push_back(i32(j)), values.push_back(below(4) ? numbers<T>(1)[0] : T(0));
        dense[size_t(i * m + j)] = double(values.back());
      }
      rows.push_back(i32(values.size()));
    }
    columns.resize(columns.size() + AHEAD), columns.shrink_to_fit(), values.shrink_to_fit();
  }
  Matrix<T> matrix() const { return {rows.data(), columns.data(), values.data()}; }
};

static double keeps(const Mask& mask, i64 row, i64 member, i64 d, i64 j) {  // what dropout multiplies a number by
  if (!mask.keys) return 1;
  u64 z = u64(row * words(d) + j / PER_WORD + 1) * 0x9E3779B97F4A7C15ull + mask.keys[member];
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull, z = (z ^ (z >> 27)) * 0x94D049BB133111EBull, z ^= z >> 31;
  return u16(z >> (16 * (j % PER_WORD))) >= mask.threshold ? mask.scale : 0;
}

template <class T> void one_call() {
  const i64 n = 1 + below(below(4) ? 30 : 120), m = 1 + below(30), p = 1 + below(3), d = 1 + below(130), threads = 1 + below(4), c = p * d;
  const Numbers<u64> keys{dice(), dice(), dice()};
  const Mask mask = below(2) ? Mask{keys.data(), u16(below(65536)), 2.0} : Mask{};
  const Numbers<T> x = numbers<T>(m * c), own = numbers<T>(n * c), gradient = numbers<T>(n * c), line = numbers<T>(c),
                   shift = numbers<T>(c);
  Numbers<T> out(size_t(n * c)), more(out);
  const auto dropped = [&](i64 k) { return keeps(mask, k / c, k / d % p, d, k % d); };
  const Sparse<T> a(n, m), square(n, n);
  const auto product = [&](const Sparse<T>& s, i64 height, i64 i, const T* from, i64 row, i64 at) {
    double sum = 0;
    for (i64 j = 0; j < height; ++j) sum += s.dense[size_t(i * height + j)] * double(from[j * row + at]);
    return sum;
  };
  switch (below(9)) {
    case 0: {  // a product
      const Product<T> s{a.matrix(), x.data(), out.data(), m, c, std::min(WIDEST<T>, 4 * (1 + below(8)))};
      const i64 all = tiles(1, c, s.at_once), by_tiles = below(2);
      Numbers<T> rooms(size_t(4 * m * WIDEST<T>));
      in_shares(by_tiles ? all : n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        if (by_tiles) multiply<T>(s, 0, n, lo, hi, rooms.data() + t * m * WIDEST<T>);
        else multiply<T>(s, lo, hi, 0, all, nullptr);
      });
      return same("multiply", out, [&](i64 k) { return product(a, m, k / c, x.data(), c, k % c); });
    }
    case 6: {  // the encoder, and its gradients by blocks of rows, in parts that meet
      const i64 classes = 1 + below(6), block = 1 + below(n), blocks = (n + block - 1) / block;
      const Numbers<T> weight2 = numbers<T>(c * classes), bias2 = numbers<T>(p * classes), of_out = numbers<T>(n * p * classes);
      Numbers<T> hidden(size_t(n * c)), encoded(size_t(n * p * classes)), rooms(size_t(4 * (m + 2 * classes) * TILE_WIDTH<T>));
      const auto room = [&](int t) { return rooms.data() + t * (m + 2 * classes) * TILE_WIDTH<T>; };
      const i32* rows = a.rows.data();
      Numbers<i32> from(size_t(n), 0), to(from), present(a.values.size() + 1);
      Numbers<T> kept(a.values.size() + 1);
      Entries<T> entries{rows, rows + 1, a.columns.data(), a.values.data()};
      if (below(2)) {  // without the entries that are 0
        in_shares(n, threads, [&](i64 lo, i64 hi, int, Team&) {
          thin(a.matrix(), static_cast<const i64*>(nullptr), lo, hi, Thinned<T>{from.data(), to.data(), present.data(), kept.data()});
        });
        entries = {from.data(), to.data(), present.data(), kept.data()};
      }
      const Mask last = below(2) ? Mask{keys.data(), u16(below(65536)), 2.0} : Mask{};
      const Encoder<T> s{entries, x.data(), line.data(), weight2.data(), bias2.data(), hidden.data(), encoded.data(), mask, last, n, m, p, d, classes};
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        for (i64 member = 0; member < p; ++member) encode(s, member, lo, hi, room(t));
      });
      same("hidden layer", hidden, [&](i64 k) {
        const i64 member = k / (n * d), i = k / d % n, j = member * d + k % d;
        return std::max(0.0, product(a, m, i, x.data(), c, j) + double(line[size_t(j)])) * keeps(mask, i, member, d, k % d);
      });
      same("encoder", encoded, [&](i64 k) {
        const i64 i = k / (p * classes), member = k / classes % p;
        double sum = double(bias2[size_t(k % (p * classes))]);
        for (i64 j = 0; j < d; ++j) sum += double(hidden[size_t((member * n + i) * d + j)]) * double(weight2[size_t((member * d + j) * classes + k % classes)]);
        return sum * keeps(last, i, member, classes, k % classes);
      });
      Numbers<i32> pointers{0}, columns;
      Numbers<T> values;
      for (i64 row = 0; row < blocks * m; ++row) {
        for (i64 i = row / m * block; i < std::min(n, (row / m + 1) * block); ++i) {
          const double value = a.dense[size_t(i * m + row % m)];
          if (value != 0) columns.push_back(i32(i)), values.push_back(T(value));
        }
        pointers.push_back(i32(columns.size()));
      }
      const Entries<T> turned{pointers.data(), pointers.data() + 1, columns.data(), values.data()};
      Numbers<T> z(size_t(block * TILE_WIDTH<T>)), of_weight1(size_t(m * c)), of_bias(size_t(4 * c)), of_weight2(size_t(4 * c * classes));
      in_shares(n, threads, [&](i64, i64, int t, Team& team) {
        const EncoderBack<T> back{turned, hidden.data(), weight2.data(), of_out.data(), of_weight1.data(), of_bias.data() + t * c, of_weight2.data() + t * c * classes, T(2), n, m, p, d, classes, block};
        int target = 0;
        for (i64 member = 0; member < p; ++member) {
          encode_back(back, member, i64(t), team.size, z.data(), room(t), [&] { team.meet(target); });
          team.meet(target);
        }
      });
      const auto of_hidden = [&](i64 i, i64 j) {  // column j of all members'
        const i64 member = j / d;
        double sum = 0;
        for (i64 q = 0; q < classes; ++q) sum += double(of_out[size_t((i * p + member) * classes + q)]) * double(weight2[size_t(j * classes + q)]);
        return hidden[size_t((member * n + i) * d + j % d)] > 0 ? 2 * sum : 0;
      };
      same("gradient of the first weight", of_weight1, [&](i64 k) {
        double sum = 0;
        for (i64 i = 0; i < n; ++i) sum += of_hidden(i, k % c) * a.dense[size_t(i * m + k / c)];
        return sum;
      });
      for (i64 k = c; k < 4 * c; ++k) of_bias[size_t(k % c)] += of_bias[size_t(k)];
      for (i64 k = c * classes; k < 4 * c * classes; ++k) of_weight2[size_t(k % (c * classes))] += of_weight2[size_t(k)];
      of_bias.resize(size_t(c)), of_weight2.resize(size_t(c * classes));
      same("gradient of the first bias", of_bias, [&](i64 k) {
        double sum = 0;
        for (i64 i = 0; i < n; ++i) sum += of_hidden(i, k);
        return sum;
      });
      return same("gradient of the second weight", of_weight2, [&](i64 k) {
        const i64 j = k / classes, member = j / d;
        double sum = 0;
        for (i64 i = 0; i < n; ++i) sum += double(hidden[size_t((member * n + i) * d + j % d)]) * double(of_out[size_t((i * p + member) * classes + k % classes)]);
        return sum;
      });
    }
    case 1: {  // dropout alone, and Adam's step, against each other's plain form
      if (mask.keys) in_shares(n, threads, [&](i64 lo, i64 hi, int, Team&) { drop(own.data(), out.data(), p, d, 0, mask, lo, hi); });
      if (mask.keys) same("drop", out, [&](i64 k) { return double(own[size_t(k)]) * dropped(k); });
      Numbers<T> value = own, first(more), second(more);
      adam(AdamStep{0.9, 0.999, 1e-8, 0.1, 0.001, false}, T(0.1), T(0), n * c, value.data(), first.data(), second.data(), gradient.data());
      return same("adam", value, [&](i64 k) {
        const double g = double(gradient[size_t(k)]);
        return double(own[size_t(k)]) - 0.1 * g / (std::sqrt(g * g) + 1e-8);
      });
    }
    case 2: {  // a Chebyshev series of a symmetric operator with its inner products
      const i64 degree = below(5), width = std::min<i64>({c, WIDEST<T>, 1 + below(40)});
      const i64 padded = with_row<T>(width, []<class R>(R) { return R::width; });
      const Numbers<T> scale(size_t(n), T(1)), weights = numbers<T>((degree + 1) * c);
      Numbers<i32> order(size_t(n), 0);
      for (i64 i = 0; i < n; ++i) order[size_t(i)] = i32(n - 1 - i);
      Numbers<T> inner(size_t(4 * (degree + 1) * c)), work[4];
      for (Numbers<T>& w : work) w.resize(size_t(n * padded));
      in_shares(n, threads, [&](i64 lo, i64 hi, int thread, Team& team) {
        const Series<T> s{square.matrix(), order.data(), scale.data(), own.data(), gradient.data(), weights.data(), out.data(), inner.data(),
                          work[0].data(), work[1].data(), work[2].data(), work[3].data(), c, width, degree, n > 15, &team};
        series(s, lo, hi, thread);
      });
      Numbers<double> now(own.size()), before(own.size()), total(own.size());
      for (i64 k = 0; k < n * c; ++k) now[size_t((n - 1 - k / c) * c + k % c)] = double(own[size_t(k)]);
      for (i64 k = 0; k <= degree; ++k) {
        if (k) {
          Numbers<double> next(now.size());
          for (i64 e = 0; e < n * c; ++e) {
            double sum = 0;
            for (i64 j = 0; j < n; ++j) sum += square.dense[size_t(e / c * n + j)] * now[size_t(j * c + e % c)];
            next[size_t(e)] = (k == 1 ? -1 : -2) * sum - (k == 1 ? 0 : before[size_t(e)]);
          }
          before = now, now = next;
        }
        for (i64 e = 0; e < n * c; ++e) total[size_t(e)] += double(weights[size_t(k * c + e % c)]) * now[size_t(e)];
      }
      double largest = 1;
      for (double t : total) largest = std::max(largest, std::abs(t));
      for (T& v : out) v = T(double(v) / largest);
      return same("series", out, [&](i64 k) { return total[size_t((n - 1 - k / c) * c + k % c)] / largest; });
    }
    case 3: {  // a layer: two halves, the second times a matrix; then the gather of its gradient
      Numbers<T> both = numbers<T>(2 * n * c);
      Combine<T> s{square.matrix(), both.data(), both.data() + d, out.data(), line.data(), shift.data(), mask, nullptr, nullptr,
                   n, p, d, 2 * c, 2 * d, c, d};
      Numbers<double> moments(size_t(8 * c));
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        Combine<T> part = s;
        part.mean = moments.data() + 2 * c * t, part.deviation = part.mean + c;
        combine(part, lo, hi);
      });
      const auto at = [&](i64 k) { return k / d % p * 2 * d + k % d; };
      same("combine", out, [&](i64 k) {
        const double u = double(both[size_t(k / c * 2 * c + at(k))]) + product(square, n, k / c, both.data() + d, 2 * c, at(k));
        return std::max(0.0, u * double(line[size_t(k % c)]) + double(shift[size_t(k % c)])) * dropped(k);
      });
      const Numbers<T> left = both;
      s.own = nullptr, s.near = both.data(), s.out = both.data() + d, s.scale = s.shift = nullptr, s.mask = {}, s.out_row = 2 * c, s.out_member = 2 * d;
      in_shares(n, threads, [&](i64 lo, i64 hi, int, Team&) { combine(s, lo, hi); });
      return same("gather", both, [&](i64 k) {
        return k % (2 * d) < d ? double(left[size_t(k)]) : product(square, n, k / (2 * c), left.data(), 2 * c, k % (2 * c) - d);
      });
    }
    case 4: {  // gradients of an activation, and of the layer before it
      const Numbers<T> lines = numbers<T>(5 * c), weight = numbers<T>(p * 3 * d), of_classes = numbers<T>(n * p * 3);
      Numbers<double> sums(size_t(8 * c));
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        Activation<T> s{gradient.data(), own.data(), more.data(), T(2), lines.data(), lines.data() + c, lines.data() + 2 * c,
                        lines.data() + 3 * c, lines.data() + 4 * c, sums.data() + 2 * c * t, sums.data() + 2 * c * t + c, out.data(), p, d, c, d};
        sum_columns(s, lo, hi), spread(s, lo, hi);
      });
      same("activation", out, [&](i64 k) {
        const double z = own[size_t(k)] > 0 ? 2 * double(gradient[size_t(k)]) : 0;
        return z * double(lines[size_t(2 * c + k % c)]) + double(lines[size_t(3 * c + k % c)]);
      });
      Numbers<T> of_weight(size_t(12 * c)), of_bias(size_t(4 * c));
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        backward(Layer<T>{own.data(), weight.data(), of_classes.data(), out.data(), of_weight.data() + 3 * c * t, of_bias.data() + c * t, p, d, 3, T(2)}, lo, hi);
      });
      same("backward", out, [&](i64 k) {
        double sum = 0;
        for (i64 j = 0; j < 3; ++j) sum += double(weight[size_t((k / d % p * 3 + j) * d + k % d)]) * double(of_classes[size_t(k / d * 3 + j)]);
        return own[size_t(k)] > 0 ? 2 * sum : 0;
      });
      for (i64 t = 1; t < 4; ++t) {
        for (i64 k = 0; k < 3 * c; ++k) of_weight[size_t(k)] += of_weight[size_t(3 * c * t + k)];
        for (i64 k = 0; k < c; ++k) of_bias[size_t(k)] += of_bias[size_t(c * t + k)];
      }
      of_weight.resize(size_t(3 * c)), of_bias.resize(size_t(c));
      same("gradient of a bias", of_bias, [&](i64 k) {
        double sum = 0;
        for (i64 i = 0; i < n; ++i) sum += double(out[size_t(i * c + k)]);
        return sum;
      });
      return same("gradient of a weight", of_weight, [&](i64 k) {  // (p, 3, d)
        const i64 member = k / (3 * d);
        double sum = 0;
        for (i64 i = 0; i < n; ++i) sum += double(own[size_t(i * c + member * d + k % d)]) * double(of_classes[size_t((i * p + member) * 3 + k / d % 3)]);
        return sum;
      });
    }
    case 5: {  // a linear layer on a graph and its gradients; every thread has a room of its own
      const i64 e = 1 + below(60), maps = 1 + below(3), packed = rounded_up(d, PANEL<T>) * e, turned = rounded_up(e, PANEL<T>) * d;
      const i64 room = ROWS * apart<T>(e), back = room_for_linear_back<T>(maps, e, d), all = p * maps * e * d;
      const Numbers<T> in = numbers<T>(n * p * e), weight = numbers<T>(all);
      const Sparse<T> other(n, n);
      const Matrix<T> matrices[2] = {square.matrix(), other.matrix()};
      const auto row = [&](i64 map, i64 i, const T* from, i64 width, i64 at) {
        return map ? product(map == 1 ? square : other, n, i, from, width, at) : double(from[i * width + at]);
      };
      Numbers<T> forth(size_t(p * maps * packed)), rest(size_t(p * maps * turned)), rooms(size_t(4 * std::max(room, back)));
      for (i64 k = 0; k < p * maps; ++k) {
        pack(weight.data() + k * e * d, d, 1, e, d, forth.data() + k * packed);
        pack(weight.data() + k * e * d, 1, d, d, e, rest.data() + k * turned);
      }
      Numbers<double> moments(size_t(8 * (c + d)));
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        double* mean = moments.data() + 2 * (c + d) * t;
        const Linear<T> s{matrices, in.data(), forth.data(),
                          {{}, out.data(), out.data(), out.data(), line.data(), shift.data(), mask, mean, mean + c, n, p, d, c, d, c, d},
                          n, p, maps, e, d, packed};
        linear(s, lo, hi, rooms.data() + t * room, mean + 2 * c);
      });
      same("linear", out, [&](i64 k) {
        double u = 0;
        for (i64 map = 0; map < maps; ++map) {
          for (i64 j = 0; j < e; ++j) {
            u += row(map, k / c, in.data(), p * e, k % c / d * e + j) * double(weight[size_t(((k % c / d * maps + map) * e + j) * d + k % d)]);
          }
        }
        return std::max(0.0, u * double(line[size_t(k % c)]) + double(shift[size_t(k % c)])) * dropped(k);
      });
      Numbers<T> of_in(in.size()), of_weight(size_t(4 * all));
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        linear_back(LinearBack<T>{matrices, in.data(), gradient.data(), rest.data(), of_in.data(), of_weight.data() + t * all, n, p, maps, e, d, turned},
                    lo, hi, rooms.data() + t * back);
      });
      same("gradient of a linear layer", of_in, [&](i64 k) {
        double sum = 0;
        const i64 member = k / e % p;
        for (i64 map = 0; map < maps; ++map) {
          for (i64 j = 0; j < d; ++j) {
            sum += row(map, k / (p * e), gradient.data(), c, member * d + j) * double(weight[size_t(((member * maps + map) * e + k % e) * d + j)]);
          }
        }
        return sum;
      });
      for (i64 k = all; k < 4 * all; ++k) of_weight[size_t(k % all)] += of_weight[size_t(k)];
      of_weight.resize(size_t(all));
      return same("gradient of its weight", of_weight, [&](i64 k) {
        double sum = 0;
        const i64 map = k / (e * d) % maps, member = k / (maps * e * d);
        for (i64 i = 0; i < n; ++i) {
          sum += double(in[size_t((i * p + member) * e + k / d % e)]) * row(map, i, gradient.data(), c, member * d + k % d);
        }
        return sum;
      });
    }
    case 7: {  // the loss with its gradient, the scores, and agreeing edges
      const i64 classes = 1 + below(20), rows = n * p, edges = 1 + below(600);
      const double smoothing = below(2) ? 0 : 0.1;
      const Numbers<T> logits = numbers<T>(rows * classes);
      Numbers<i64> labels(size_t(n), 0);
      Numbers<u8> masks(size_t(3 * rows), 0), predicted(size_t(rows), 0);
      Numbers<double> weights(size_t(classes), 0.0), share(size_t(p), 0.0), sums(size_t(4 * p), 0.0);
      for (i64& label : labels) label = below(classes);
      for (u8& one : masks) one = u8(below(2));
      for (double& one : weights) one = double(1 + below(10)) / 4;
      const double* weighted = below(2) ? weights.data() : nullptr;
      const auto weight = [&](i64 i) { return weighted ? weights[size_t(labels[size_t(i)])] : 1; };
      for (i64 row = 0; row < rows; ++row) share[size_t(row % p)] += masks[size_t(row)] ? weight(row / p) : 0;
      for (double& one : share) one = one ? 1 / one : 0;
      Numbers<T> of_logits(logits.size()), rooms(size_t(4 * SIDE * classes));
      Numbers<i64> counts(size_t(16 * p), 0);
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        const CrossEntropy<T> s{logits.data(), labels.data(), masks.data(), weighted, share.data(), of_logits.data(), sums.data() + t * p, p, classes, smoothing};
        s.run(lo, hi, rooms.data() + t * SIDE * classes);
        evaluate(Scores<T>{logits.data(), labels.data(), masks.data(), predicted.data(), counts.data() + 4 * t * p, n, p, classes}, lo, hi);
      });
      const auto logit = [&](i64 row, i64 q) { return double(logits[size_t(row * classes + q)]); };
      const auto target = [&](i64 row, i64 q) { return (labels[size_t(row / p)] == q ? 1 - smoothing : 0) + smoothing / double(classes); };
      const auto total = [&](i64 row) {
        double sum = 0;
        for (i64 q = 0; q < classes; ++q) sum += std::exp(logit(row, q));
        return sum;
      };
      same("gradient of the loss", of_logits, [&](i64 k) {
        const i64 row = k / classes, q = k % classes;
        return masks[size_t(row)] ? weight(row / p) * share[size_t(row % p)] * (std::exp(logit(row, q)) / total(row) - target(row, q)) : 0;
      });
      Numbers<T> losses(size_t(p), T(0));
      for (i64 k = 0; k < 4 * p; ++k) losses[size_t(k % p)] += T(sums[size_t(k)] * share[size_t(k % p)]);
      same("loss", losses, [&](i64 member) {
        double sum = 0;
        for (i64 row = member; row < rows; row += p) {
          for (i64 q = 0; q < classes && masks[size_t(row)]; ++q) sum += weight(row / p) * target(row, q) * (std::log(total(row)) - logit(row, q));
        }
        return sum * share[size_t(member)];
      });
      const auto largest = [&](i64 row) { return std::max_element(&logits[size_t(row * classes)], &logits[size_t(row * classes)] + classes) - &logits[size_t(row * classes)]; };
      same("predictions", Numbers<float>(predicted.begin(), predicted.end()), [&](i64 row) { return double(masks[size_t(row)] ? labels[size_t(row / p)] : largest(row)); });
      for (i64 k = 4 * p; k < 16 * p; ++k) counts[size_t(k % (4 * p))] += counts[size_t(k)];
      counts.resize(size_t(4 * p));
      same("right predictions", Numbers<double>(counts.begin(), counts.end()), [&](i64 k) {
        double right = 0;
        for (i64 row = k % p; row < rows && k < 3 * p; row += p) right += masks[size_t(k / p * rows + row)] && largest(row) == labels[size_t(row / p)];
        return right;
      });
      Numbers<i32> one(size_t(edges), 0), two(one);
      for (i64 e = 0; e < edges; ++e) one[size_t(e)] = i32(below(n)), two[size_t(e)] = i32(below(n));
      Numbers<u8> padded = predicted;
      padded.resize(padded.size() + size_t(WIDEST<u8>)), padded.shrink_to_fit();
      Numbers<i64> agree(size_t(4 * p), 0);
      in_shares(edges, threads, [&](i64 lo, i64 hi, int t, Team&) {
        if (!count_agreeing({one.data(), two.data(), padded.data(), agree.data() + t * p, n, p}, lo, hi)) agree[0] = -1;
      });
      for (i64 k = p; k < 4 * p; ++k) agree[size_t(k % p)] += agree[size_t(k)];
      agree.resize(size_t(p));
      return same("agreeing edges", Numbers<double>(agree.begin(), agree.end()), [&](i64 member) {
        double equal = 0;
        for (i64 e = 0; e < edges; ++e) equal += predicted[size_t(one[size_t(e)] * p + member)] == predicted[size_t(two[size_t(e)] * p + member)];
        return equal;
      });
    }
    default: {  // every row normalised, and back
      Numbers<T> y(out.size()), of_u(out.size()), of_lines(size_t(8 * c));
      in_shares(n, threads, [&](i64 lo, i64 hi, int t, Team&) {
        const RowNorm<T> s{own.data(), line.data(), shift.data(), gradient.data(), y.data(), of_u.data(), of_lines.data() + 2 * c * t,
                           of_lines.data() + 2 * c * t + c, mask, T(1e-2), p, d, d};
        normalise_rows(s, lo, hi), normalise_rows_back(s, lo, hi);
      });
      return same("row norm", y, [&](i64 k) {
        double mean = 0, square = 0;
        for (i64 j = k / d * d; j < k / d * d + d; ++j) mean += double(own[size_t(j)]) / double(d);
        for (i64 j = k / d * d; j < k / d * d + d; ++j) square += std::pow(double(own[size_t(j)]) - mean, 2) / double(d);
        const double u = (double(own[size_t(k)]) - mean) / std::sqrt(square + 1e-2);
        return std::max(0.0, u * double(line[size_t(k % c)]) + double(shift[size_t(k % c)])) * dropped(k);
      });
    }
  }
}

int main(int, char** given) {
  const i64 calls = std::atoll(given[1]), interrupts = std::atoll(given[3]), wanted = std::atoll(given[4]);
  dice.seed(u64(std::atoll(given[2])));
  struct sigaction action = {};
  action.sa_handler = [](int) { ++signals; };
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 500}, {0, 500}};
  if (interrupts) setitimer(ITIMER_REAL, &often, nullptr);
  i64 made = 0;
  for (; made < calls || signals < interrupts || faults < wanted; ++made) {
    if (wanted) until_memory_fails = 1 + below(60), until_thread_fails = 1 + below(2);
    if (wanted && made % 50 == 0) until_memory_fails = 0, pool() = new Pool, until_memory_fails = 1 + below(60);  // without threads, so that some are started; the old one is lost
    try {
      below(2) ? one_call<float>() : one_call<double>();
    } catch (const std::bad_alloc&) {
    }
    until_memory_fails = until_thread_fails = 0;
  }
  std::printf("%lld %d %lld\n", static_cast<long long>(made), signals.load(), static_cast<long long>(faults.load()));
  std::fflush(stdout);
  std::_Exit(0);  // the threads of the pool wait for ever
}
