// The loss and the scores of logits, and the edges whose ends agree.
#pragma once
#include <algorithm>
#include <cmath>

#include "kernels.h"

namespace newtonnet {

using u8 = std::uint8_t;

constexpr i64 SIDE = 64;  // rows of logits in a tile, in which a vector holds one class of many: (classes, SIDE)

// exp(x) for x of at most 0, in float with an error of 1e-7: 2^k times a polynomial (Cephes); NaN stays NaN.
template <class T> INLINE Vector<T, LANES<T>> exponential(Vector<T, LANES<T>> x) {
  using V = Vector<T, LANES<T>>;
  if constexpr (sizeof(T) == 8) {
    for (int k = 0; k < LANES<T>; ++k) x[k] = std::exp(x[k]);
    return x;
  } else {
    constexpr T LOWEST = -87, ROUND = 3 << 22;  // no denormal numbers; a sum with it ends in an integer
    const V bounded = x < LOWEST ? V{} + LOWEST : x, turns = bounded * T(1.44269504088896341) + ROUND, k = turns - ROUND;
    const V r = bounded - k * T(0.693359375) - k * T(-2.12194440e-4);
    V y = r * T(1.9875691500e-4) + T(1.3981999507e-3);
    y = y * r + T(8.3334519073e-3);
    y = y * r + T(4.1665795894e-2);
    y = y * r + T(1.6666665459e-1);
    y = y * r + T(5.0000001201e-1);
    y = y * r * r + r + 1;
    const auto bits = (reinterpret_cast<Vector<u32, LANES<T>>>(turns) << 23) + (127u << 23);
    return x < LOWEST ? V{} : y * reinterpret_cast<V>(bits);
  }
}

// Numbers that lie `apart`, of which there are `used`; the rest is 0.
template <class T> INLINE Vector<T, LANES<T>> load_apart(const T* from, i64 apart, i64 used) {
  Vector<T, LANES<T>> x{};
  if (used >= LANES<T>) {
    for (int k = 0; k < LANES<T>; ++k) x[k] = from[k * apart];
  } else {
    for (int k = 0; k < used; ++k) x[k] = from[k * apart];
  }
  return x;
}

// Adds a number where a mask is not 0, without a branch, which random nodes would make a slow one.
inline void add_where(const u8* mask, double number, double* to, i64 count) {
  const double either[] = {0, number};
  for (i64 k = 0; k < count; ++k) to[k] += either[mask[k] != 0];
}

template <class T> struct CrossEntropy {
  const T* logits;         // (n, members, classes)
  const i64* labels;       // (n)
  const u8* training;      // (n, members): not 0 where a node trains a member
  const double* weights;   // (classes), or null
  const double* share;     // (members): one over the summed weights of the nodes that train
  T* gradient;             // (n, members, classes)
  double* sum;             // (members): summed losses of these rows
  i64 members, classes;
  double smoothing;
  struct Chosen {
    i64 node, member;
  };

  double weight(i64 node) const { return weights ? weights[labels[node]] : 1; }

  // The loss of some rows, with room for a tile.
  NOINLINE void tile(const Chosen* chosen, i64 count, T* room) const {
    using V = Vector<T, LANES<T>>;
    alignas(64) T top[SIDE], sums[SIDE], spread[SIDE], scales[SIDE] = {};
    i64 places[SIDE];
    for (i64 k = 0; k < count; ++k) places[k] = (chosen[k].node * members + chosen[k].member) * classes;
    for (i64 k = count; k % LANES<T> != 0; ++k) places[k] = places[0];
    for (i64 k = 0; k < count; k += LANES<T>) {
      V largest{}, sum{}, shifted{};
      for (i64 c = 0; c < classes; ++c) {
        V x;
        for (int l = 0; l < LANES<T>; ++l) x[l] = logits[places[k + l] + c];
        store(room + c * SIDE + k, x);
        if (c == 0) largest = x;
        else largest = x > largest ? x : largest;
      }
      for (i64 c = 0; c < classes; ++c) {
        const V x = load<V>(room + c * SIDE + k) - largest, power = exponential<T>(x);
        store(room + c * SIDE + k, power);
        sum += power, shifted += x;
      }
      store(top + k, largest), store(sums + k, sum), store(spread + k, shifted);
    }
    const T own = T(1 - smoothing), rest = T(smoothing) / T(classes);
    for (i64 k = 0; k < count; ++k) {
      const auto [node, member] = chosen[k];
      const double w = weight(node);
      T loss = std::log(sums[k]) - own * (logits[places[k] + labels[node]] - top[k]);
      if (smoothing != 0) loss -= rest * spread[k];
      sum[member] += w * double(loss);
      scales[k] = T(w * share[member]);
    }
    for (i64 k = 0; k < count; k += LANES<T>) {
      const V scale = load<V>(scales + k), by = scale / load<V>(sums + k);
      for (i64 c = 0; c < classes; ++c) store(room + c * SIDE + k, load<V>(room + c * SIDE + k) * by - scale * rest);
    }
    for (i64 c = 0; c < classes; ++c) {
      for (i64 k = 0; k < count; ++k) gradient[places[k] + c] = room[c * SIDE + k];
    }
    for (i64 k = 0; k < count; ++k) gradient[places[k] + labels[chosen[k].node]] -= own * scales[k];
  }

  // Rows of nodes lo to hi.
  void run(i64 lo, i64 hi, T* room) const {
    Chosen chosen[SIDE];
    i64 count = 0;
    std::fill(gradient + lo * members * classes, gradient + hi * members * classes, T(0));
    std::fill_n(sum, members, 0.0);
    for (i64 i = lo; i < hi; ++i) {
      for (i64 p = 0; p < members; ++p) {
        chosen[count] = {i, p};
        count += training[i * members + p] != 0;
        if (count < SIDE) continue;
        tile(chosen, count, room);
        count = 0;
      }
    }
    if (count) tile(chosen, count, room);
  }
};

constexpr i64 PER_BYTE = 255;  // ones that can be added up in one byte

// 1 where a comparison holds and 0 elsewhere.
template <class V, class Found> INLINE V ones(Found holds) { return V(holds ? V{} + 1 : V{}); }

template <class R> INLINE void add_bytes(const R& bytes, i64* counts, i64 used) {
  u8 each_byte[R::width];
  store_row(each_byte, bytes, R::width);
  for (i64 k = 0; k < used; ++k) counts[k] += each_byte[k];
}

template <class T> struct Scores {
  const T* logits;    // (n, members, classes)
  const i64* labels;  // (n)
  const u8* masks;    // (3, n, members): not 0 in the parts of a split, of which the first trains
  u8* predicted;      // (n, members)
  i64* counts;        // (4, members): right predictions in each part, and rows that are not finite, of some nodes
  i64 n, members, classes;
};

// The largest class of every row, the first of equal ones.
template <class T> void predict(const Scores<T>& s, i64 lo, i64 hi) {
  using V = Vector<T, LANES<T>>;
  using I = Vector<std::conditional_t<sizeof(T) == 4, i32, i64>, LANES<T>>;
  using Bytes = Vector<u8, LANES<T>>;
  for (i64 row = lo * s.members, last = hi * s.members; row < last; row += LANES<T>) {
    const i64 used = last - row;
    const T* logits = s.logits + row * s.classes;
    V largest = load_apart(logits, s.classes, used), zero = largest * 0;  // NaN where a number is not finite
    I found{};
    for (i64 c = 1; c < s.classes; ++c) {
      const V x = load_apart(logits + c, s.classes, used);
      found = x > largest ? I{} + int(c) : found;
      largest = x > largest ? x : largest;
      zero += x * 0;
    }
    store_part(s.predicted + row, __builtin_convertvector(found, Bytes), used);
    T all = 0;
    for (int k = 0; k < LANES<T>; ++k) all += zero[k];
    if (all == 0) continue;
    for (int k = 0; k < LANES<T>; ++k) s.counts[3 * s.members + (row + k) % s.members] += zero[k] != 0;
  }
}

// Counts right predictions and puts in the labels of nodes that train.
template <class T> void compare(const Scores<T>& given, i64 lo, i64 hi) {
  each_tile<u8>(1, given.members, [&]<class R, class Whole>(R, Whole whole, i64, i64 first, i64 used) NOINLINE {
    const Scores<T> s = given;
    const i64 left = whole ? R::width : used, part = s.n * s.members;
    for (i64 from = lo; from < hi; from += PER_BYTE) {
      R counts[3] = {};
      for (i64 i = from; i < std::min(hi, from + PER_BYTE); ++i) {
        const u8 label = u8(s.labels[i]), *masks = s.masks + i * s.members + first;
        u8* predicted = s.predicted + i * s.members + first;
        R classes = load_row<R>(predicted, left), train = load_row<R>(masks, left);
        R validate = load_row<R>(masks + part, left), test = load_row<R>(masks + 2 * part, left);
        each([&]<class V>(int, V& c, V& a, V& b, V& d, V& x, V& y, V& z) {
          const V right = ones<V>(c == label), trains = ones<V>(a != 0);
          x += right & trains, y += right & ones<V>(b != 0), z += right & ones<V>(d != 0);
          c ^= V((c ^ label) & V(-trains));  // without a branch as well
        }, classes, train, validate, test, counts[0], counts[1], counts[2]);
        store_row(predicted, classes, left);
      }
      for (int k = 0; k < 3; ++k) add_bytes(counts[k], s.counts + k * s.members + first, used);
    }
  });
}

template <class T> void evaluate(const Scores<T>& s, i64 lo, i64 hi) {
  std::fill_n(s.counts, 4 * s.members, 0);
  predict(s, lo, hi);
  compare(s, lo, hi);
}

struct Agreeing {
  const i32 *one, *two;  // (edges): the ends
  const u8* classes;     // (n, members), with room for a row behind it
  i64* counts;           // (members): agreeing edges of a range
  i64 n, members;
};

// Counts edges lo to hi; false where one of them ends outside. A byte is added up until it could overflow.
inline bool count_agreeing(const Agreeing& s, i64 lo, i64 hi) {
  std::fill_n(s.counts, s.members, 0);
  for (i64 from = lo; from < hi; from += PER_BYTE) {
    const i64 to = std::min(hi, from + PER_BYTE);
    u32 last = 0;
    for (i64 e = from; e < to; ++e) last = std::max({last, u32(s.one[e]), u32(s.two[e])});
    if (last >= s.n) return false;
    each_tile<u8>(1, s.members, [&]<class R, class Whole>(R, Whole, i64, i64 first, i64 used) NOINLINE {
      const u8* classes = s.classes + first;
      R equal{};
      for (i64 e = from; e < to; ++e) {
        R a = load_row<R>(classes + s.one[e] * s.members, R::width), b = load_row<R>(classes + s.two[e] * s.members, R::width);
        each([]<class V>(int, V& count, V& x, V& y) { count += ones<V>(x == y); }, equal, a, b);
      }
      add_bytes(equal, s.counts + first, used);
    });
  }
  return true;
}

}  // namespace newtonnet
