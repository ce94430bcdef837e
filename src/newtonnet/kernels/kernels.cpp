// The hot loops. This file is compiled once for each instruction set, with INSTRUCTIONS as the name of a namespace;
// it uses nothing of the standard library that could leave code for one processor in a function shared by all.
#include "kernels.h"

#include <sched.h>

#include "vectors.h"

namespace newtonnet {
namespace INSTRUCTIONS {
namespace {

INLINE i64 least(i64 a, i64 b) { return a < b ? a : b; }

// ---- dropout: SplitMix64 of key and place gives four numbers of 16 bits, each of which decides on one number

constexpr int PER_WORD = 4, WORDS = REGISTER / 8, HASHED = PER_WORD * WORDS;  // numbers decided on by one register

INLINE i64 words(i64 width) { return (width + PER_WORD - 1) / PER_WORD; }

// HASHED numbers of the stream of `key` from `word` on.
INLINE void hash(u16* bits, u64 key, u64 word) {
  Vector<u64, WORDS> z;
  for (int k = 0; k < WORDS; ++k) z[k] = k;
  z = (z + (word + 1)) * 0x9E3779B97F4A7C15ull + key;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  store(bits, z ^ (z >> 31));
}

template <class T> struct IntegerOf;
template <> struct IntegerOf<float> { using type = i32; };
template <> struct IntegerOf<double> { using type = i64; };

template <class T, class V> INLINE V kept(V v, const u16* bits, u16 threshold, T scale) {
  constexpr int L = int(sizeof(V) / sizeof(T));
  if constexpr (L == 1) return *bits >= threshold ? v * scale : T(0);
  else {
    using Wide = Vector<typename IntegerOf<T>::type, L>;
    const auto wide = __builtin_convertvector(load<Vector<u16, L>>(bits), Wide);
    return wide >= typename IntegerOf<T>::type(threshold) ? v * scale : V{};
  }
}

// Rows lo to hi of a block (n, members, d), of which the first starts at `word` of every key's stream.
template <class T> void drop(const T* x, T* out, i64 members, i64 d, i64 word, const Mask& mask, i64 lo, i64 hi) {
  alignas(64) u16 bits[HASHED];
  for (i64 row = lo * members; row < hi * members; ++row)
    for (i64 j = 0; j < d; j += LANES<T>) {
      const i64 at = row * d + j, in = j % HASHED;
      if (in == 0) hash(bits, mask.keys[row % members], u64(word + row / members * words(d) + j / PER_WORD));
      const auto v = kept(load_part<T, LANES<T>>(x + at, d - j), bits + in, mask.threshold, T(mask.scale));
      store_part<T, LANES<T>>(out + at, v, d - j);
    }
}

// ---- sparse products

// Entries summed side by side: enough to hide the latency of an addition.
template <class R> constexpr int SIDE_BY_SIDE = R::registers == 1 ? 4 : R::registers == 2 ? 3 : 2;

// The sum over entries first to last of the matrix's value times the row of x that `at(column)` points to.
template <class R, bool Weighted, bool Ahead, class T, class At>
INLINE R row_sum(const Matrix<T>& m, i64 first, i64 last, const At& at) {
  const auto entry = [&](R& sum, i64 e) __attribute__((always_inline)) {
    if constexpr (Ahead) {
      const char* soon = reinterpret_cast<const char*>(at(m.columns[e + AHEAD]));
      for (int byte = 0; byte < R::width * int(sizeof(T)); byte += 64) __builtin_prefetch(soon + byte, 0, 3);
    }
    const T* from = at(m.columns[e]);
    const T value = Weighted ? m.values[e] : T(1);
    each([&](int o, auto& s) __attribute__((always_inline)) {
      const auto x = load<std::remove_reference_t<decltype(s)>>(from + o);
      if constexpr (Weighted) s += x * value;
      else s += x;
    }, sum);
  };
  constexpr int S = SIDE_BY_SIDE<R>;
  R sum{}, second{}, third{}, fourth{};
  i64 e = first;
  for (const i64 middle = first + (last - first) / S * S; e < middle; e += S) {
    entry(sum, e), entry(second, e + 1);
    if constexpr (S > 2) entry(third, e + 2);
    if constexpr (S > 3) entry(fourth, e + 3);
  }
  add(sum, second);
  if constexpr (S > 2) add(sum, third);
  if constexpr (S > 3) add(sum, fourth);
  for (; e < last; ++e) entry(sum, e);
  return sum;
}

// Columns first to first + used of out, for rows lo to hi of one member.
template <class R, bool Ahead, bool Whole, class T>
void product_tile(const Product<T>& given, i64 member, i64 first, i64 used, i64 lo, i64 hi) {
  const Product<T> s = given;  // a copy of its own stays in registers, whatever is written
  const i64 wide = s.members * s.d, column = member * s.d + first;
  const T* x = s.x + column;
  T last_row[R::width];  // registers reach behind a row, which must not happen behind the last
  if constexpr (!Whole)
    if (s.m) store_row(last_row, load_row<R>(x + (s.m - 1) * wide, used), R::width);
  const R bias = s.bias ? load_row<R>(s.bias + column, used) : R{};
  const T scale = T(s.mask.scale);
  alignas(64) u16 bits[R::width + HASHED];
  for (i64 i = lo; i < hi; ++i) {
    R sum = row_sum<R, true, Ahead>(s.matrix, s.matrix.rows[i], s.matrix.rows[i + 1], [&](i32 c) {
      const T* from = x + i64(u32(c)) * wide;
      if constexpr (Whole) return from;
      else return c == s.m - 1 ? const_cast<const T*>(last_row) : from;
    });
    if (s.bias)
      each([](int, auto& v, auto& b) { v += b, v = v < 0 ? decltype(v + b){} : v; }, sum, const_cast<R&>(bias));
    if (s.mask.keys) {
      for (i64 j = 0; j < used; j += HASHED)
        hash(bits + j, s.mask.keys[member], u64(i * words(s.d) + (first + j) / PER_WORD));
      each([&](int o, auto& v) { v = kept(v, bits + o, s.mask.threshold, scale); }, sum);
    }
    store_row(s.out + i * wide + column, sum, used);
  }
}

template <class T> void multiply(const Product<T>& given, i64 lo, i64 hi) {
  Product<T> s = given;
  if (!s.bias && !s.mask.keys) s.d *= s.members, s.members = 1;  // members need not be told apart
  for (i64 p = 0; p < s.members; ++p)
    for (i64 j = 0; j < s.d; j += WIDEST<T>) {
      const i64 used = least(WIDEST<T>, s.d - j);
      with_row<T>(used, [&](auto row) {
        using R = decltype(row);
        auto tile = s.ahead ? product_tile<R, true, true, T> : product_tile<R, false, true, T>;
        if constexpr (R::may_be_part)
          if (used < R::width) tile = s.ahead ? product_tile<R, true, false, T> : product_tile<R, false, false, T>;
        tile(s, p, j, used, lo, hi);
      });
    }
}

template <class T> int side_by_side(i64 width) {
  int found = 0;
  with_row<T>(width, [&](auto row) { found = SIDE_BY_SIDE<decltype(row)>; });
  return found;
}

template <class T> i64 padded(i64 width) {
  i64 found = 0;
  with_row<T>(width, [&](auto row) { found = decltype(row)::width; });
  return found;
}

// Every entry stays in the sum that it is added to, and sums that lose more than others are filled up with zeros, so
// that the product keeps its bits. False where the order is not one of places among the values.
template <int S, class T> bool thin_by(const Thin<T>& t) {
  const auto value = [&](i64 e, T& found) {
    const u64 place = t.order ? u64(t.order[e]) : u64(e);
    if (place >= u64(t.entries)) return false;
    found = t.matrix.values[place];
    return true;
  };
  i64 base = 0;
  t.rows[0] = 0;
  for (i64 i = 0; i < t.n; ++i) {
    const i64 last = t.matrix.rows[i + 1];
    i64 e = t.matrix.rows[i], to[S], longest = base;
    for (int k = 0; k < S; ++k) to[k] = base + k;
    for (const i64 middle = e + (last - e) / S * S; e < middle; e += S)
      for (int k = 0; k < S; ++k) {
        T v;
        if (!value(e + k, v)) return false;
        t.columns[to[k]] = t.matrix.columns[e + k];  // a zero is written too, and overwritten by what comes next
        t.values[to[k]] = v;
        to[k] += v != 0 ? S : 0;
      }
    for (int k = 0; k < S; ++k) longest = to[k] - k > longest ? to[k] - k : longest;
    for (int k = 0; k < S; ++k)
      for (; to[k] - k < longest; to[k] += S) t.columns[to[k]] = 0, t.values[to[k]] = 0;
    for (base = longest; e < last; ++e, ++base) {
      if (!value(e, t.values[base])) return false;
      t.columns[base] = t.matrix.columns[e];
    }
    t.rows[i + 1] = i32(base);
  }
  for (int k = 0; k < AHEAD; ++k) t.columns[base + k] = 0;
  return true;
}

template <class T> bool thin(const Thin<T>& t, int side_by_side) {
  return side_by_side == 4 ? thin_by<4>(t) : side_by_side == 3 ? thin_by<3>(t) : thin_by<2>(t);
}

// ---- a whole Chebyshev series: T_1 = -A x, then T_k = -2 A T_{k-1} - T_{k-2}, which overwrites T_{k-2}

constexpr int SPINS = 4000;  // looks at the other threads' progress before the processor is given away

template <class T> INLINE void meet(const Series<T>& s, i64& target) {
  if (s.threads == 1) return;
  target += s.threads;
  __atomic_fetch_add(s.arrived, 1, __ATOMIC_ACQ_REL);
  for (int n = 0; __atomic_load_n(s.arrived, __ATOMIC_ACQUIRE) < target; ++n)
    if (n > SPINS) sched_yield();
}

// Rows in the plan's order, scaled and padded to whole registers; the first term of the sum and of the inner products.
template <class R, class T> void enter(const Series<T>& given, i64 first, i64 used, T* inner, i64 lo, i64 hi) {
  const Series<T> s = given;
  const R weights = load_row<R>(s.weights + first, used);
  R products{};
  for (i64 i = lo; i < hi; ++i) {
    const i64 from = i64(s.order[i]) * s.columns + first, to = i * R::width;
    R x = load_row<R>(s.x + from, used), other = s.other ? load_row<R>(s.other + from, used) : R{};
    const T scale = s.scale[i], unscale = s.unscale[i];
    each([&](int o, auto& v, auto& c, auto& w, auto& p) {
      v *= scale;
      store(s.a + to + o, v);
      store(s.total + to + o, v * c);
      if (!s.other) return;
      w *= unscale;
      store(s.against + to + o, w);
      p += w * v;
    }, x, const_cast<R&>(weights), other, products);
  }
  if (s.other) store_row(inner, products, used);
}

template <class R, bool Weighted, bool Ahead, class T>
void term(const Series<T>& given, i64 k, const T* now, T* out, i64 first, i64 used, T* inner, i64 lo, i64 hi) {
  const Series<T> s = given;
  constexpr i64 W = R::width;
  const R weights = load_row<R>(s.weights + k * s.columns + first, used);
  const T alpha = k == 1 ? -1 : -2, beta = k == 1 ? 0 : -1, *before = k == 1 ? now : out;
  R products{};
  for (i64 i = lo; i < hi; ++i) {
    R sum = row_sum<R, Weighted, Ahead>(s.matrix, s.matrix.rows[i], s.matrix.rows[i + 1],
                                        [&](i32 c) { return now + i64(u32(c)) * W; });
    const T scale = alpha * s.factor[i];
    each([&](int o, auto& v, auto& c, auto& p) {
      using V = std::remove_reference_t<decltype(v)>;
      v = v * scale + load<V>(before + i * W + o) * beta;
      store(out + i * W + o, v);
      store(s.total + i * W + o, load<V>(s.total + i * W + o) + v * c);
      if (s.other) p += load<V>(s.against + i * W + o) * v;
    }, sum, const_cast<R&>(weights), products);
  }
  if (s.other) store_row(inner, products, used);
}

template <class R, class T> void leave(const Series<T>& given, i64 first, i64 used, i64 lo, i64 hi) {
  const Series<T> s = given;
  for (i64 i = lo; i < hi; ++i) {
    R sum = load_row<R>(s.total + i * R::width, R::width);
    const T unscale = s.unscale[i];
    each([&](int, auto& v) { v *= unscale; }, sum);
    store_row(s.out + i64(s.order[i]) * s.columns + first, sum, used);
  }
}

template <class T> void series(const Series<T>& s, i64 lo, i64 hi, int thread) {
  i64 target = 0;
  for (i64 first = 0; first < s.columns; first += s.at_once) {
    const i64 used = least(s.at_once, s.columns - first);
    if (first) meet(s, target);  // the others may still read what is overwritten now
    T* inner = s.inner + thread * (s.degree + 1) * s.columns + first;
    with_row<T>(used, [&](auto row) {
      using R = decltype(row);
      enter<R>(s, first, used, inner, lo, hi);
      for (i64 k = 1; k <= s.degree; ++k) {
        meet(s, target);
        const auto next = s.matrix.values ? term<R, true, true, T>
                          : s.ahead       ? term<R, false, true, T>
                                          : term<R, false, false, T>;
        next(s, k, k % 2 ? s.a : s.b, k % 2 ? s.b : s.a, first, used, inner + k * s.columns, lo, hi);
      }
      leave<R>(s, first, used, lo, hi);
    });
  }
}

// ---- linear maps to a few columns, and their gradients

template <class T> void combine(const Layer<T>& given, i64 lo, i64 hi) {
  const Layer<T> s = given;
  with_row<T>(s.classes, [&](auto row) {
    using R = decltype(row);
    for (i64 start = lo; start < hi; start += s.strip)
      for (i64 p = 0; p < s.members; ++p) {
        const T* weight = s.weight + p * s.d * R::width;
        const R bias = load_row<R>(s.bias + p * s.classes, s.classes);
        for (i64 i = start; i < least(start + s.strip, hi); ++i) {
          const T* h = s.hidden + (i * s.members + p) * s.d;
          R sums[4] = {bias, {}, {}, {}};
          const auto input = [&](R& sum, i64 j) __attribute__((always_inline)) {
            const T *from = weight + j * R::width, x = h[j];
            each([&](int o, auto& v) { v += load<std::remove_reference_t<decltype(v)>>(from + o) * x; }, sum);
          };
          i64 j = 0;
          for (; j + 4 <= s.d; j += 4)
            input(sums[0], j), input(sums[1], j + 1), input(sums[2], j + 2), input(sums[3], j + 3);
          for (; j < s.d; ++j) input(sums[0], j);
          add(sums[0], sums[1]), add(sums[2], sums[3]), add(sums[0], sums[2]);
          store_row(s.out + (i * s.members + p) * s.classes, sums[0], s.classes);
        }
      }
  });
}

template <class R, bool Whole, class T>
void back_tile(const Layer<T>& given, i64 p, i64 first, i64 used, i64 lo, i64 hi, T* of_weight, T* of_bias) {
  const Layer<T> s = given;
  const i64 shift = p * s.classes * s.d + first, left = Whole ? R::width : used;
  R bias{};
  for (i64 i = lo; i < hi; ++i) {
    const i64 row = i * s.members + p, at = row * s.d + first;
    R hidden = load_row<R>(s.hidden + at, left), z{};
    for (i64 c = 0; c < s.classes; ++c) {
      const T g = s.gradient[row * s.classes + c], *weight = s.weight + shift + c * s.d;
      T* into = of_weight + shift + c * s.d;
      each([&](int o, auto& v, auto& h) {
        constexpr int L = int(sizeof(v) / sizeof(T));
        v += load_part<T, L>(weight + o, left - o) * g;
        store_part<T, L>(into + o, load_part<T, L>(into + o, left - o) + h * g, left - o);
      }, z, hidden);
    }
    each([&](int, auto& v, auto& h, auto& b) { v = h > 0 ? v * s.scale : decltype(v + h){}, b += v; }, z, hidden, bias);
    store_row(s.out + at, z, left);
  }
  store_row(of_bias + p * s.d + first, bias, left);
}

template <class T> void back(const Layer<T>& s, i64 lo, i64 hi, T* of_weight, T* of_bias) {
  for (i64 p = 0; p < s.members; ++p)
    for (i64 j = 0; j < s.d; j += WIDEST<T>) {
      const i64 used = least(WIDEST<T>, s.d - j);
      with_row<T>(used, [&](auto row) {
        using R = decltype(row);
        auto tile = back_tile<R, true, T>;
        if constexpr (R::may_be_part)
          if (used < R::width) tile = back_tile<R, false, T>;
        tile(s, p, j, used, lo, hi, of_weight, of_bias);
      });
    }
}

// ---- the optimiser and the scores: simple loops, which the compiler makes vectors of

INLINE float root(float x) { return __builtin_sqrtf(x); }
INLINE double root(double x) { return __builtin_sqrt(x); }

template <class T> void adam(const Adam<T>& s) {
  const T to_first = T(1 - s.beta1), keep_second = T(s.beta2), to_second = T(1 - s.beta2), epsilon = T(s.epsilon);
  const T by_first = T(1 / s.first_bias), by_second = T(1 / s.second_bias);
  for (i64 k = 0; k < s.outer * s.members; ++k) {
    const T rate = s.rates[k % s.members], decay = s.decays[k % s.members], speed = rate * by_first;
    const T added = s.decoupled ? 0 : decay, shrunk = s.decoupled ? rate * decay : 0;
    T *__restrict value = s.value + k * s.inner, *__restrict first = s.first + k * s.inner;
    T* __restrict second = s.second + k * s.inner;
    const T* __restrict gradient = s.gradient + k * s.inner;
    for (i64 j = 0; j < s.inner; ++j) {
      const T x = value[j], g = gradient[j] + added * x;
      first[j] += (g - first[j]) * to_first;
      second[j] = second[j] * keep_second + g * g * to_second;
      value[j] = x - x * shrunk - first[j] * speed / (root(second[j] * by_second) + epsilon);
    }
  }
}

// False where a label does not fit into 16 bits.
template <class T> bool correct(const Correct<T>& s) {
  for (i64 i = 0; i < s.n; ++i) {
    const i64 label = s.labels[i];
    if (label != i16(label)) return false;
    for (i64 p = 0; p < s.members; ++p) {
      const T* row = s.logits + (i * s.members + p) * s.choices;
      i64 best = 0;
      T top = row[0], null = row[0] * 0;
      for (i64 c = 1; c < s.choices; ++c) {
        const bool above = row[c] > top;
        best = above ? c : best, top = above ? row[c] : top;
        null += row[c] * 0;
      }
      const unsigned in = s.parts[i * s.members + p];
      s.classes[i * s.members + p] = i16(in & 1 ? label : best);
      for (int part = 0; part < 3; ++part) s.counts[part * s.members + p] += best == label ? in >> part & 1 : 0;
      if (!(null == 0)) s.finite[p] = false;
    }
  }
  return true;
}

// Adds the pairs whose two nodes have equal classes; false where a node is not among the nodes.
bool agree(const i32* one, const i32* two, const i16* classes, i64 nodes, i64 members, i64 pairs, i64* counts) {
  constexpr i64 BLOCK = 4096;  // checked while they are in the cache, and few enough for counts of 16 bits
  using V = Vector<i16, LANES<i16>>;
  for (i64 start = 0; start < pairs; start += BLOCK) {
    const i64 end = least(start + BLOCK, pairs);
    int outside = 0;
    for (i64 e = start; e < end; ++e) outside |= i64(u32(one[e])) >= nodes || i64(u32(two[e])) >= nodes;
    if (outside) return false;
    i64 p = 0;
    for (; p + LANES<i16> <= members; p += LANES<i16>) {
      V sum{};
      for (i64 e = start; e < end; ++e)
        sum -= load<V>(classes + one[e] * members + p) == load<V>(classes + two[e] * members + p);
      for (int k = 0; k < LANES<i16>; ++k) counts[p + k] += sum[k];
    }
    for (; p < members; ++p)
      for (i64 e = start; e < end; ++e) counts[p] += classes[one[e] * members + p] == classes[two[e] * members + p];
  }
  return true;
}

template <class T> constexpr Kernels<T> table = {series<T>, multiply<T>, thin<T>, drop<T>, combine<T>, back<T>, adam<T>,
                                                 correct<T>, agree, side_by_side<T>, padded<T>, WIDEST<T>};

}  // namespace

extern const Kernels<float> floats = table<float>;
extern const Kernels<double> doubles = table<double>;

}  // namespace INSTRUCTIONS
}  // namespace newtonnet
