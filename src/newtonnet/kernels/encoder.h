// The encoder of sparse features, drop(drop(max(X W1 + b1, 0)) W2 + b2), and its gradients. Work goes member by member,
// so that a member's weights, or a block of its gradients, stay in a core's own cache while the entries stream past.
#pragma once
#include "kernels.h"

namespace newtonnet {

// ---- rows of whole registers

constexpr int MOST = REGISTER_BYTES == 64 ? 4 : 8;  // registers of a row
template <class T> constexpr i64 TILE_WIDTH = MOST * LANES<T>;

// Calls f with a row of 1, 2, 4 or 8 registers that has room for `used` numbers.
template <class T, int F = MOST, class Call> INLINE void with_registers(i64 used, const Call& f) {
  if constexpr (F > 1) {
    if (used <= F / 2 * LANES<T>) return with_registers<T, F / 2>(used, f);
  }
  f(Row<T, F - 1, LANES<T>>{});
}

// The first `used` numbers of such a row, of which whole registers may be unused.
template <class R, class T> INLINE R load_used(const T* from, i64 used) {
  R row;
  each([&]<class V>(int o, V& v) { v = load_part<V>(from + o, std::max<i64>(used - o, 0)); }, row);
  return row;
}

template <class R, class T> INLINE void store_used(T* to, R row, i64 used) {
  each([&](int o, auto& v) { store_part(to + o, v, std::max<i64>(used - o, 0)); }, row);
}

// The numbers at places K of a and b, one behind the other: a shuffle that every compiler knows.
template <class T, int... K, class V> INLINE auto pick(V a, V b) {
  constexpr int L = sizeof(V) / sizeof(T);
  return Vector<T, sizeof...(K)>{(K < L ? a[K % L] : b[K % L])...};
}

template <class T, class V, int... K> INLINE auto fold_half(V v, std::integer_sequence<int, K...>) {
  return pick<T, K...>(v, v) + pick<T, (K + int(sizeof...(K)))...>(v, v);
}

// The sum of a register's numbers.
template <class T, class V> INLINE T total(V v) {
  constexpr int L = sizeof(V) / sizeof(T);
  if constexpr (L == 2) return v[0] + v[1];
  else return total<T>(fold_half<T>(v, std::make_integer_sequence<int, L / 2>{}));
}

// The sums of four registers of float32 numbers, side by side.
template <class V> INLINE auto totals(V a, V b, V c, V d) {
  if constexpr (sizeof(V) == 16) {
    const V ab = pick<float, 0, 4, 1, 5>(a, b) + pick<float, 2, 6, 3, 7>(a, b);
    const V cd = pick<float, 0, 4, 1, 5>(c, d) + pick<float, 2, 6, 3, 7>(c, d);
    return pick<float, 0, 1, 4, 5>(ab, cd) + pick<float, 2, 3, 6, 7>(ab, cd);
  } else {
    const auto half = std::make_integer_sequence<int, sizeof(V) / 8>{};
    return totals(fold_half<float>(a, half), fold_half<float>(b, half), fold_half<float>(c, half), fold_half<float>(d, half));
  }
}

// ---- entries

template <class T> struct Entries {  // those of row i are begin[i] to end[i]
  const i32 *begin, *end, *columns;
  const T* values;
};

template <class T> struct Thinned {  // room for the entries of a matrix that are not 0
  i32 *begin, *end, *columns;
  T* values;
};

// Copies the entries of rows lo to hi that are not 0; `order` has the place of each value, null: its own.
template <class T> void thin(const Matrix<T>& m, const i64* order, i64 lo, i64 hi, const Thinned<T>& to) {
  i32 at = m.rows[lo];
  for (i64 i = lo; i < hi; ++i) {
    to.begin[i] = at;
    for (i64 e = m.rows[i]; e < m.rows[i + 1]; ++e) {
      const T value = m.values[order ? order[e] : e];
      to.columns[at] = m.columns[e];
      to.values[at] = value;
      at += value != 0;
    }
    to.end[i] = at;
  }
}

template <class R, class T, class At> INLINE void add_entries(R& sum, const Entries<T>& m, i64 i, const At& at) {
  for (i64 e = m.begin[i]; e < m.end[i]; ++e) {
    const T* from = at(m.columns[e]);
    const T value = m.values[e];
    each([&]<class V>(int o, V& s) __attribute__((always_inline)) { s += load<V>(from + o) * value; }, sum);
  }
}

// ---- forward

template <class T> struct Encoder {
  Entries<T> x;                // (n, features)
  const T *weight1, *bias1;    // (features, members, d), (members, d)
  const T *weight2, *bias2;    // (members, d, classes), (members, classes)
  T *hidden, *out;             // (members, n, d), null where nobody needs it; (n, members, classes)
  Mask mask, last;             // of the hidden layer, of the result
  i64 n, features, members, d, classes;
};

// Columns of the second weight as rows of whole registers.
template <class R, class T> void turn(const T* weight2, i64 first, i64 used, i64 classes, T* turned) {
  std::fill_n(turned, classes * R::width, T(0));
  for (i64 j = 0; j < used; ++j)
    for (i64 c = 0; c < classes; ++c) turned[c * R::width + j] = weight2[(first + j) * classes + c];
}

// Rows lo to hi of member p. `room` has room for a tile of both weights.
template <class T> void encode(const Encoder<T>& given, i64 p, i64 lo, i64 hi, T* room) {
  for (i64 first = 0; first < given.d; first += TILE_WIDTH<T>) {
    const i64 used = std::min(TILE_WIDTH<T>, given.d - first);
    with_registers<T>(used, [&]<class R>(R) NOINLINE {
      const Encoder<T> s = given;
      const i64 column = p * s.d + first, wide = s.members * s.d;
      const bool in_place = s.members == 1 && s.d == R::width;
      T* turned = room;
      turn<R>(s.weight2 + p * s.d * s.classes, first, used, s.classes, turned);
      const T* weight = s.weight1;
      if (!in_place) {
        T* tile = room + s.classes * R::width;
        for (i64 f = 0; f < s.features; ++f) {
          __builtin_prefetch(s.weight1 + (f + 16) * wide + column);
          store_used(tile + f * R::width, load_used<R>(s.weight1 + f * wide + column, used), R::width);
        }
        weight = tile;
      }
      R bias = load_used<R>(s.bias1 + column, used);
      alignas(64) u16 bits[R::width + HASHED];
      for (i64 i = lo; i < hi; ++i) {
        R sum = bias;
        add_entries(sum, s.x, i, [&](i32 f) { return weight + i64(u32(f)) * R::width; });
        each([]<class V>(int, V& v) { v = v < 0 ? V{} : v; }, sum);
        if (s.mask.keys) {
          const i64 word = i * words(s.d) + first / PER_WORD;
          for (i64 j = 0; j < R::width; j += HASHED) hash(bits + j, s.mask.keys[p], u64(word + j / PER_WORD));
          each([&](int o, auto& v) { v = dropped(v, bits + o, s.mask.threshold, T(s.mask.scale)); }, sum);
        }
        if (s.hidden) store_used(s.hidden + (p * s.n + i) * s.d + first, sum, used);
        T* out = s.out + (i * s.members + p) * s.classes;
        i64 c = 0;
        const T* before = first ? out : s.bias2 + p * s.classes;
        if constexpr (sizeof(T) == 4) {
          for (; c + 4 <= s.classes; c += 4) {
            Vector<T, LANES<T>> p0{}, p1{}, p2{}, p3{};
            const T* w = turned + c * R::width;
            each([&]<class V>(int o, V& v) __attribute__((always_inline)) {
              p0 += v * load<V>(w + o), p1 += v * load<V>(w + R::width + o);
              p2 += v * load<V>(w + 2 * R::width + o), p3 += v * load<V>(w + 3 * R::width + o);
            }, sum);
            store(out + c, totals(p0, p1, p2, p3) + load<Vector<T, 4>>(before + c));
          }
        }
        for (; c < s.classes; ++c) {
          Vector<T, LANES<T>> products{};
          each([&]<class V>(int o, V& v) { products += v * load<V>(turned + c * R::width + o); }, sum);
          out[c] = total<T>(products) + before[c];
        }
        if (s.last.keys && first + used == s.d)
          drop_row(out, out, s.classes, s.last.keys[p], i * words(s.classes), s.last);
      }
    });
  }
}

// ---- backward

template <class T> struct EncoderBack {
  Entries<T> turned;                      // row b * features + f: the nodes of block b that have feature f
  const T *hidden, *weight2, *gradient;   // (members, n, d), (members, d, classes), (n, members, classes)
  T *of_weight1, *of_bias1, *of_weight2;  // (features, members, d), (members, d), (members, d, classes)
  T scale;                                // what dropout multiplied by
  i64 n, features, members, d, classes, block;
};

constexpr i64 FEW_ROWS = 32;  // whose hidden numbers stay in the first cache

// sums (C, width) += g' h over a few rows of h (rows, width) and g (rows, C), which lie `apart`; sums stay in registers.
template <int C, class R, class T> INLINE void outer(const T* h, const T* g, i64 apart, i64 rows, T* sums) {
  using V = Vector<T, LANES<T>>;
  for (i64 o = 0; o < R::width; o += LANES<T>) {
    V total[C];
    for (int c = 0; c < C; ++c) total[c] = load<V>(sums + c * R::width + o);
    for (i64 i = 0; i < rows; ++i) {
      const V own = load<V>(h + i * R::width + o);
      for (int c = 0; c < C; ++c) total[c] += own * g[i * apart + c];
    }
    for (int c = 0; c < C; ++c) store(sums + c * R::width + o, total[c]);
  }
}

// The same for any number of classes: by fours, two and one.
template <class R, class T> void add_outer(const T* h, const T* g, i64 classes, i64 apart, i64 rows, T* sums) {
  i64 c = 0;
  for (; c + 4 <= classes; c += 4) outer<4, R>(h, g + c, apart, rows, sums + c * R::width);
  if (c + 2 <= classes) outer<2, R>(h, g + c, apart, rows, sums + c * R::width), c += 2;
  if (c < classes) outer<1, R>(h, g + c, apart, rows, sums + c * R::width);
}

// One of the `parts` of member p's gradients: some rows of every block, then some features. `z` has room for a block and
// is shared by all parts; `room` has room for tiles of the second weight, of its gradient and of the first's. Parts meet
// before they read what others have written; each has its own gradients of the second weight and the bias, to be added up.
template <class T, class Meet>
void encode_back(const EncoderBack<T>& given, i64 p, i64 part, i64 parts, T* z, T* room, const Meet& meet) {
  for (i64 first = 0; first < given.d; first += TILE_WIDTH<T>) {
    const i64 used = std::min(TILE_WIDTH<T>, given.d - first);
    with_registers<T>(used, [&]<class R>(R) NOINLINE {
      const EncoderBack<T> s = given;
      const i64 column = p * s.d + first, wide = s.members * s.d;
      T *turned = room, *sums = room + s.classes * R::width, *kept = room + 2 * s.classes * R::width;
      turn<R>(s.weight2 + p * s.d * s.classes, first, used, s.classes, turned);
      std::fill_n(sums, s.classes * R::width, T(0));
      R bias{};
      alignas(64) T copied[FEW_ROWS * R::width];
      for (i64 lo = 0, b = 0; lo < s.n; lo += s.block, ++b) {
        const i64 rows = std::min(s.block, s.n - lo), to = lo + rows * (part + 1) / parts;
        if (lo || first) meet();
        for (i64 from = lo + rows * part / parts; from < to; from += FEW_ROWS) {
          const i64 few = std::min(FEW_ROWS, to - from);
          for (i64 i = from; i < from + few; ++i) {
            const T* g = s.gradient + (i * s.members + p) * s.classes;
            __builtin_prefetch(g + 16 * s.members * s.classes);  // rows of one member lie far apart
            R own = load_used<R>(s.hidden + (p * s.n + i) * s.d + first, used), of_z{};
            for (i64 c = 0; c < s.classes; ++c)
              each([&]<class V>(int o, V& v) { v += load<V>(turned + c * R::width + o) * g[c]; }, of_z);
            each([&]<class V>(int o, V& v, V& h, V& sum) {
              v = h > 0 ? v * s.scale : V{};  // a hidden number that was cut or dropped is 0
              sum += v;
              store(z + (i - lo) * R::width + o, v);
              store(copied + (i - from) * R::width + o, h);
            }, of_z, own, bias);
          }
          const T* g = s.gradient + (from * s.members + p) * s.classes;
          add_outer<R, T>(copied, g, s.classes, s.members * s.classes, few, sums);
        }
        meet();
        const bool whole = lo + s.block >= s.n;
        for (i64 f = s.features * part / parts; f < s.features * (part + 1) / parts; ++f) {
          R sum = lo ? load_used<R>(kept + f * R::width, R::width) : R{};
          add_entries(sum, s.turned, b * s.features + f, [&](i32 i) { return z + (i - lo) * R::width; });
          if (whole) store_used(s.of_weight1 + f * wide + column, sum, used);
          else store_used(kept + f * R::width, sum, R::width);
        }
      }
      store_used(s.of_bias1 + column, bias, used);
      for (i64 j = 0; j < used; ++j)
        for (i64 c = 0; c < s.classes; ++c) s.of_weight2[(column + j) * s.classes + c] = sums[c * R::width + j];
    });
  }
}

}  // namespace newtonnet
