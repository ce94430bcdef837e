// Vectors of the machine's registers, and rows of a block that are made of them. Everything is in a namespace of the
// instruction set: this header is compiled once for each.
#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

#define INLINE inline __attribute__((always_inline))

namespace newtonnet {
namespace INSTRUCTIONS {

#if defined(__AVX512F__)
constexpr int REGISTER = 64;
#elif defined(__AVX2__)
constexpr int REGISTER = 32;
#else
constexpr int REGISTER = 16;
#endif

template <class T> constexpr int LANES = REGISTER / int(sizeof(T));
template <class T> constexpr std::int64_t WIDEST = 4 * LANES<T>;  // columns that one pass handles

template <class T, int L> struct VectorOf { typedef T type __attribute__((vector_size(L * sizeof(T)))); };
template <class T> struct VectorOf<T, 1> { typedef T type; };
template <class T, int L> using Vector = typename VectorOf<T, L>::type;

template <class V> INLINE V load(const void* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V> INLINE void store(void* to, V v) { std::memcpy(to, &v, sizeof v); }

template <class T, int H, int... I>
INLINE Vector<T, 2 * H> join(Vector<T, H> low, Vector<T, H> high, std::integer_sequence<int, I...>) {
  if constexpr (H == 1) return Vector<T, 2>{low, high};
  else return __builtin_shufflevector(low, high, I...);
}
template <class T, int H, int From, int... I>
INLINE Vector<T, H> half(Vector<T, 2 * H> v, std::integer_sequence<int, I...>) {
  if constexpr (H == 1) return v[From];
  else return __builtin_shufflevector(v, v, (From + I)...);
}

// The first `used` numbers, 1 or more, and zeros behind them; nothing behind them is read or written.
template <class T, int L> INLINE Vector<T, L> load_part(const T* from, std::int64_t used) {
  if constexpr (L == 1) return *from;
  else {
    constexpr int H = L / 2;
    if (used >= L) return load<Vector<T, L>>(from);
    const Vector<T, H> low = load_part<T, H>(from, used);
    const Vector<T, H> high = used > H ? load_part<T, H>(from + H, used - H) : Vector<T, H>{};
    return join<T, H>(low, high, std::make_integer_sequence<int, L>());
  }
}
template <class T, int L> INLINE void store_part(T* to, Vector<T, L> v, std::int64_t used) {
  if constexpr (L == 1) *to = v;
  else {
    constexpr int H = L / 2;
    constexpr std::make_integer_sequence<int, H> all;
    if (used >= L) return store(to, v);
    store_part<T, H>(to, half<T, H, 0>(v, all), used);
    if (used > H) store_part<T, H>(to + H, half<T, H, H>(v, all), used - H);
  }
}

// A row of a block: F full registers, then one of L lanes.
template <class T, int F, int L> struct Row {
  static constexpr int registers = F + 1, lanes = LANES<T>, width = F * LANES<T> + L;
  static constexpr bool may_be_part = L > 2;  // a row that uses one number or two of its last register fills it
  Vector<T, lanes> part;
  Row<T, F - 1, L> rest;
};
template <class T, int L> struct Row<T, 0, L> {
  static constexpr int registers = 1, lanes = L, width = L;
  static constexpr bool may_be_part = L > 2;
  Vector<T, L> part;
};

// Calls op(offset, registers...) for the registers of one or more rows of the same layout.
template <int Offset = 0, class Op, class R, class... Rs> INLINE void each(const Op& op, R& row, Rs&... others) {
  op(Offset, row.part, others.part...);
  if constexpr (R::registers > 1) each<Offset + R::lanes>(op, row.rest, others.rest...);
}
template <class R, class T> INLINE R load_row(const T* from, std::int64_t used) {
  R row;
  each([&](int o, auto& v) { v = load_part<T, int(sizeof(v) / sizeof(T))>(from + o, used - o); }, row);
  return row;
}
template <class R, class T> INLINE void store_row(T* to, R row, std::int64_t used) {
  each([&](int o, auto& v) { store_part<T, int(sizeof(v) / sizeof(T))>(to + o, v, used - o); }, row);
}
template <class R> INLINE void add(R& sum, R other) { each([](int, auto& a, auto& b) { a += b; }, sum, other); }

// Calls f with a row for `width` columns: at most four registers, the last as narrow as it can be.
template <class T, int F = 0, int L = LANES<T>, class Call> INLINE void with_row(std::int64_t width, const Call& f) {
  if constexpr (F < 3 && L == LANES<T>)
    if (width > (F + 1) * LANES<T>) return with_row<T, F + 1, L>(width, f);
  if constexpr (L > 1)
    if (width <= F * LANES<T> + L / 2) return with_row<T, F, L / 2>(width, f);
  f(Row<T, F, L>{});
}

}  // namespace INSTRUCTIONS
}  // namespace newtonnet
