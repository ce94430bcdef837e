// The hot loops. Each works on rows lo to hi, the share of one thread.
#pragma once
#include <algorithm>
#include <cmath>

#include "threads.h"

namespace newtonnet {

// ---- dropout: SplitMix64 of key and place gives words of four 16-bit numbers, each of which decides on one number

constexpr int PER_WORD = 4, WORDS = REGISTER_BYTES / 8, HASHED = PER_WORD * WORDS;  // numbers decided on at once

struct Mask {  // one key for each member; no keys: no dropout
  const u64* keys = nullptr;
  u16 threshold = 0;
  double scale = 1;
};

INLINE i64 words(i64 width) { return (width + PER_WORD - 1) / PER_WORD; }

// HASHED numbers of a key's stream from `word` on.
INLINE void hash(u16* bits, u64 key, u64 word) {
  constexpr u64 STEP = 0x9E3779B97F4A7C15ull;
  Vector<u64, WORDS> z;
  for (int k = 0; k < WORDS; ++k) z[k] = k * STEP;
  z += (word + 1) * STEP + key;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  store(bits, z ^ (z >> 31));
}

template <class T, class V> INLINE V dropped(V v, const u16* bits, u16 threshold, T scale) {
  constexpr int L = int(sizeof(V) / sizeof(T));
  if constexpr (L == 1) {
    return *bits >= threshold ? v * scale : T(0);
  } else {
    using Integer = std::conditional_t<sizeof(T) == 4, i32, i64>;
    const auto wide = __builtin_convertvector(load<Vector<u16, L>>(bits), Vector<Integer, L>);
    return wide >= Integer(threshold) ? v * scale : V{};
  }
}

// Dropout of a row that starts at `word` of the key's stream.
template <class T> INLINE void drop_row(const T* x, T* out, i64 d, u64 key, i64 word, const Mask& mask) {
  alignas(64) u16 bits[HASHED];
  for (i64 j = 0; j < d; j += LANES<T>) {
    const i64 in = j % HASHED;
    if (in == 0) hash(bits, key, u64(word + j / PER_WORD));
    const auto v = load_part<Vector<T, LANES<T>>>(x + j, d - j);
    store_part(out + j, dropped(v, bits + in, mask.threshold, T(mask.scale)), d - j);
  }
}

// Dropout of a block (n, members, d) whose first row starts at `word` of every key's stream.
template <class T> void drop(const T* x, T* out, i64 members, i64 d, i64 word, const Mask& mask, i64 lo, i64 hi) {
  for (i64 row = lo * members; row < hi * members; ++row)
    drop_row(x + row * d, out + row * d, d, mask.keys[row % members], word + row / members * words(d), mask);
}

// Tiles of at most `at_once` columns in a block (n, members, d); none reaches into two members.
INLINE i64 tiles(i64 members, i64 d, i64 at_once) { return members * ((d + at_once - 1) / at_once); }

// Calls f(row, whole, member, first, used) for every tile, or for those of a range: `used` columns of a member from
// `first` on, which fit the row, and whether they are its whole width.
template <class T, class F>
INLINE void each_tile(i64 members, i64 d, const F& f, i64 at_once = WIDEST<T>, i64 from = 0, i64 to = -1) {
  const i64 of_member = tiles(1, d, at_once);
  for (i64 tile = from; tile < (to < 0 ? members * of_member : to); ++tile) {
    const i64 p = tile / of_member, j = tile % of_member * at_once, used = std::min(at_once, d - j);
    with_row<T>(used, [&]<class R>(R row) {
      if (used == R::width) f(row, std::true_type{}, p, j, used);
      else f(row, std::false_type{}, p, j, used);
    });
  }
}

// ---- sparse products

constexpr int AHEAD = 32;  // entries between the one that is summed and the one whose row is prefetched

template <class T> struct Matrix {  // CSR; without values all are 1. The column indices go on for AHEAD entries.
  const i32 *rows, *columns;
  const T* values;
};

// Entries summed side by side: enough to hide the latency of an addition.
template <class R> constexpr int SIDE_BY_SIDE = R::registers == 1 ? 4 : R::registers == 2 ? 3 : 2;

// The sum over row i's entries of the value times the row of x that `at(column)` points to; S entries side by side.
// Where Exact, nothing is read behind the first `used` numbers of a row.
template <class R, int S, bool Weighted, bool Prefetch, bool Exact = false, class T, class At>
INLINE R row_sum(const Matrix<T>& m, i64 i, const At& at, i64 used = R::width) {
  const auto entry = [&](R& sum, i64 e) __attribute__((always_inline)) {
    if constexpr (Prefetch) {
      const char* soon = reinterpret_cast<const char*>(at(m.columns[e + AHEAD]));
      for (int byte = 0; byte < R::width * int(sizeof(T)); byte += 64) __builtin_prefetch(soon + byte, 0, 3);
    }
    const T* from = at(m.columns[e]);
    const T value = Weighted ? m.values[e] : T(1);
    each([&]<class V>(int o, V& s) __attribute__((always_inline)) {
      const V x = Exact ? load_part<V>(from + o, used - o) : load<V>(from + o);
      if constexpr (Weighted) s += x * value;
      else s += x;
    }, sum);
  };
  const i64 last = m.rows[i + 1];
  i64 e = m.rows[i];
  R sum{}, second{}, third{}, fourth{};
  for (const i64 middle = e + (last - e) / S * S; e < middle; e += S) {
    entry(sum, e);
    if constexpr (S > 1) entry(second, e + 1);
    if constexpr (S > 2) entry(third, e + 2);
    if constexpr (S > 3) entry(fourth, e + 3);
  }
  const auto add = [](int, auto& to, auto& more) { to += more; };
  each(add, sum, second);
  if constexpr (S > 2) each(add, sum, third);
  if constexpr (S > 3) each(add, sum, fourth);
  for (; e < last; ++e) entry(sum, e);
  return sum;
}

template <class T> struct Product {  // out = A x; x: (m, d)
  Matrix<T> matrix;
  const T* x;
  T* out;
  i64 m, d;
  i64 at_once = WIDEST<T>;  // columns of a tile
};

// Rows lo to hi of the tiles from `from` to `to`. With room for a tile of x, each is copied there first: its rows lie
// far apart in a population, where they push each other out of the caches.
// Registers of a row that is not whole reach into the next row; the last row of x has none, so a copy of it is read.
// Entries are summed one after the other, so that leaving out those of value 0 changes no bit.
template <class T> void multiply(const Product<T>& given, i64 lo, i64 hi, i64 from, i64 to, T* room) {
  const auto tile = [&]<class R, class Whole>(R, Whole whole, i64, i64 first, i64 used) NOINLINE {
    const Product<T> s = given;  // a copy of its own stays in registers, whatever is written
    const i64 apart = room ? R::width : s.d;
    const T* x = s.x + first;
    for (i64 i = 0; room && i < s.m; ++i) store_row(room + i * apart, load_row<R>(x + i * s.d, used), R::width);
    T last_row[R::width];
    if (!whole && s.m) store_row(last_row, load_row<R>(x + (s.m - 1) * s.d, used), R::width);
    if (room) x = room;
    for (i64 i = lo; i < hi; ++i) {
      R sum = row_sum<R, 1, true, true>(s.matrix, i, [&](i32 c) {
        const T* row = x + i64(u32(c)) * apart;
        return whole || c != s.m - 1 ? row : last_row;
      });
      store_row(s.out + i * s.d + first, sum, used);
    }
  };
  each_tile<T>(1, given.d, tile, given.at_once, from, to);
}

// ---- a Chebyshev series: T_1 = -A x, then T_k = -2 A T_{k-1} - T_{k-2}, which overwrites T_{k-2}

template <class T> struct Series {  // out = sum of c_k T_k(-S A S) x, and the inner products of every term with `other`
  Matrix<T> matrix;
  const i32* order;                          // the node of every row of the matrix
  const T *scale, *x, *other, *coefficients;  // scale: S; other: null where no inner products are wanted
  T *out, *inner, *a, *b, *total, *against;  // inner: (threads, degree + 1, columns)
  i64 columns, at_once, degree;
  bool prefetch;
  Team* team;
};

// Rows in the matrix's order, scaled and padded to whole registers; the first term of the sum.
template <class R, class T> void enter(const Series<T>& given, i64 first, i64 used, T* inner, i64 lo, i64 hi) {
  const Series<T> s = given;
  R weights = load_row<R>(s.coefficients + first, used), products{};
  for (i64 i = lo; i < hi; ++i) {
    const i64 from = i64(s.order[i]) * s.columns + first, to = i * R::width;
    R x = load_row<R>(s.x + from, used), other = s.other ? load_row<R>(s.other + from, used) : R{};
    const T scale = s.scale[i], unscale = 1 / scale;
    each([&](int o, auto& v, auto& c, auto& w, auto& p) {
      v *= scale;
      store(s.a + to + o, v);
      store(s.total + to + o, v * c);
      if (!s.other) return;
      w *= unscale;
      store(s.against + to + o, w);
      p += w * v;
    }, x, weights, other, products);
  }
  if (s.other) store_row(inner, products, used);
}

// out = T_k of the term `now` before it and of what out holds; its part of the sum and of the inner products.
template <class R, bool Weighted, bool Prefetch, class T>
void term(const Series<T>& given, i64 k, const T* now, T* out, i64 first, i64 used, T* inner, i64 lo, i64 hi) {
  const Series<T> s = given;
  const T alpha = k == 1 ? -1 : -2, beta = k == 1 ? 0 : -1, *before = k == 1 ? now : out;
  R weights = load_row<R>(s.coefficients + k * s.columns + first, used), products{};
  for (i64 i = lo; i < hi; ++i) {
    const i64 at = i * R::width;
    R sum = row_sum<R, SIDE_BY_SIDE<R>, Weighted, Prefetch>(s.matrix, i, [&](i32 c) { return now + i64(u32(c)) * R::width; });
    const T scale = Weighted ? alpha : alpha * (s.scale[i] * s.scale[i]);
    each([&]<class V>(int o, V& v, V& c, V& p) {
      v = v * scale + load<V>(before + at + o) * beta;
      store(out + at + o, v);
      store(s.total + at + o, load<V>(s.total + at + o) + v * c);
      if (s.other) p += load<V>(s.against + at + o) * v;
    }, sum, weights, products);
  }
  if (s.other) store_row(inner, products, used);
}

template <class R, class T> void leave(const Series<T>& given, i64 first, i64 used, i64 lo, i64 hi) {
  const Series<T> s = given;
  for (i64 i = lo; i < hi; ++i) {
    R sum = load_row<R>(s.total + i * R::width, R::width);
    const T unscale = 1 / s.scale[i];
    each([&](int, auto& v) { v *= unscale; }, sum);
    store_row(s.out + i64(s.order[i]) * s.columns + first, sum, used);
  }
}

template <class T> void series(const Series<T>& s, i64 lo, i64 hi, int thread) {
  int target = 0;
  for (i64 first = 0; first < s.columns; first += s.at_once) {
    const i64 used = std::min(s.at_once, s.columns - first);
    if (first) s.team->meet(target);  // the others may still read what is overwritten now
    T* inner = s.inner + thread * (s.degree + 1) * s.columns + first;
    with_row<T>(used, [&]<class R>(R) {
      const auto next = s.matrix.values ? term<R, true, true, T>
                        : s.prefetch    ? term<R, false, true, T>
                                        : term<R, false, false, T>;
      enter<R>(s, first, used, inner, lo, hi);
      for (i64 k = 1; k <= s.degree; ++k) {
        s.team->meet(target);
        next(s, k, k % 2 ? s.a : s.b, k % 2 ? s.b : s.a, first, used, inner + k * s.columns, lo, hi);
      }
      leave<R>(s, first, used, lo, hi);
    });
  }
}

// ---- the gradients of a layer, and the optimiser

// From the gradient of h W' with h = drop(ReLU(z)) to those of z, of W and of a bias of z.
template <class T> struct Layer {
  const T *hidden, *weight, *gradient;  // (n, members, d), (members, classes, d), (n, members, classes)
  T *of_z, *of_weight, *of_bias;
  i64 members, d, classes;
  T scale;
};

// Adds up what it finds in `of_weight` and `of_bias`.
template <class T> void backward_rows(const Layer<T>& given, i64 lo, i64 hi) {
  each_tile<T>(given.members, given.d, [&]<class R, class Whole>(R, Whole whole, i64 p, i64 first, i64 used) NOINLINE {
    const Layer<T> s = given;
    const i64 shift = p * s.classes * s.d + first, left = whole ? R::width : used;
    R bias = load_row<R>(s.of_bias + p * s.d + first, left);
    for (i64 i = lo; i < hi; ++i) {
      const i64 row = i * s.members + p, at = row * s.d + first;
      R hidden = load_row<R>(s.hidden + at, left), z{};
      for (i64 c = 0; c < s.classes; ++c) {
        const T g = s.gradient[row * s.classes + c], *weight = s.weight + shift + c * s.d;
        T* into = s.of_weight + shift + c * s.d;
        each([&]<class V>(int o, V& v, V& h) {
          v += load_part<V>(weight + o, left - o) * g;
          store_part<V>(into + o, load_part<V>(into + o, left - o) + h * g, left - o);
        }, z, hidden);
      }
      each([&]<class V>(int, V& v, V& h, V& b) {
        v = h > 0 ? v * s.scale : V{};  // a hidden number that was cut or dropped is 0
        b += v;
      }, z, hidden, bias);
      store_row(s.of_z + at, z, left);
    }
    store_row(s.of_bias + p * s.d + first, bias, left);
  });
}

// A few rows of all members at a time: the rows of one member lie far apart, each on a page of its own.
template <class T> void backward(const Layer<T>& s, i64 lo, i64 hi) {
  constexpr i64 ROWS = 32;
  for (i64 from = lo; from < hi; from += ROWS) backward_rows(s, from, std::min(hi, from + ROWS));
}

struct AdamStep {
  double beta1, beta2, epsilon, first_bias, second_bias;
  bool decoupled;
};

template <class T>
void adam(const AdamStep& s, T rate, T decay, i64 count, T* __restrict value, T* __restrict first, T* __restrict second,
          const T* __restrict gradient) {
  const T to_first = T(1 - s.beta1), keep_second = T(s.beta2), to_second = T(1 - s.beta2), epsilon = T(s.epsilon);
  const T speed = rate * T(1 / s.first_bias), by_second = T(1 / s.second_bias);
  const T added = s.decoupled ? 0 : decay, shrunk = s.decoupled ? rate * decay : 0;
  for (i64 j = 0; j < count; ++j) {
    const T x = value[j], g = gradient[j] + added * x;
    first[j] += (g - first[j]) * to_first;
    second[j] = second[j] * keep_second + g * g * to_second;
    value[j] = x - x * shrunk - first[j] * speed / (std::sqrt(second[j] * by_second) + epsilon);
  }
}

}  // namespace newtonnet
