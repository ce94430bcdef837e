// Vectors that fill the machine's registers, and rows of a block that are made of them.
#pragma once
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

namespace newtonnet {

using i32 = std::int32_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

#if defined(__AVX512F__)
constexpr int REGISTER_BYTES = 64;
#elif defined(__AVX2__)
constexpr int REGISTER_BYTES = 32;
#else
constexpr int REGISTER_BYTES = 16;
#endif

template <class T> constexpr int LANES = REGISTER_BYTES / int(sizeof(T));
template <class T> constexpr int REGISTERS = sizeof(T) == 4 ? 4 : 2;  // of a row; fewer of the less used type
template <class T> constexpr i64 WIDEST = REGISTERS<T> * LANES<T>;     // columns that one pass handles

template <class T, int L> struct VectorOf {
  typedef T type __attribute__((vector_size(L * sizeof(T))));
};
template <class T> struct VectorOf<T, 1> {
  typedef T type;
};
template <class T, int L> using Vector = typename VectorOf<T, L>::type;

template <class V> INLINE V load(const void* from) {
  typedef V Anywhere __attribute__((aligned(1), may_alias));  // a copy of 8 bytes would take a detour
  return *static_cast<const Anywhere*>(from);
}

template <class V> INLINE void store(void* to, V v) { std::memcpy(to, &v, sizeof v); }

// Copies `count` numbers, fewer than 2 H, in pieces of H, H / 2, ... 1.
template <int H, class T> INLINE void copy_part(T* to, const T* from, i64 count) {
  if (count & H) std::memcpy(to, from, H * sizeof(T));
  if constexpr (H > 1) copy_part<H / 2>(to + (count & H), from + (count & H), count);
}

// Loads the first `used` numbers and fills up with zeros; does not read past them.
template <class V, class T> INLINE V load_part(const T* from, i64 used) {
  constexpr int L = sizeof(V) / sizeof(T);
  if (L == 1 || used >= L) return load<V>(from);
  alignas(V) T part[L] = {};
  copy_part<(L + 1) / 2>(part, from, used);
  return load<V>(part);
}

// Stores the first `used` numbers and writes nothing past them.
template <class V, class T> INLINE void store_part(T* to, V v, i64 used) {
  constexpr int L = sizeof(V) / sizeof(T);
  if (L == 1 || used >= L) return store(to, v);
  alignas(V) T part[L];
  store(part, v);
  copy_part<(L + 1) / 2>(to, part, used);
}

// A row of a block: F full registers, then one of L lanes. It is recursive because compilers keep arrays in memory.
template <class T, int F, int L> struct Row {
  static constexpr int registers = F + 1, lanes = LANES<T>, width = F * LANES<T> + L;
  Vector<T, lanes> part;
  Row<T, F - 1, L> rest;
};
template <class T, int L> struct Row<T, 0, L> {
  static constexpr int registers = 1, lanes = L, width = L;
  Vector<T, L> part;
};

// Calls op(offset, registers...) for the registers of one or more rows of the same layout.
template <int Offset = 0, class Op, class R, class... Rs> INLINE void each(const Op& op, R& row, Rs&... others) {
  op(Offset, row.part, others.part...);
  if constexpr (R::registers > 1) each<Offset + R::lanes>(op, row.rest, others.rest...);
}

template <class R, class T> INLINE R load_row(const T* from, i64 used) {
  R row;
  each([&](int o, auto& v) { v = load_part<std::remove_reference_t<decltype(v)>>(from + o, used - o); }, row);
  return row;
}

template <class R, class T> INLINE void store_row(T* to, R row, i64 used) {
  each([&](int o, auto& v) { store_part(to + o, v, used - o); }, row);
}

// Returns f's result for a row of `width` columns. A single register is as narrow as it can be; behind full registers
// the last one is full or half, which keeps the number of variants small.
template <class T, int F = 0, int L = LANES<T>, class Call> INLINE auto with_row(i64 width, const Call& f) {
  if constexpr (F + 1 < REGISTERS<T> && L == LANES<T>) {
    if (width > (F + 1) * LANES<T>) return with_row<T, F + 1, L>(width, f);
  }
  if constexpr (L > 1 && (F == 0 || L == LANES<T>)) {
    if (width <= F * LANES<T> + L / 2) return with_row<T, F, L / 2>(width, f);
  }
  return f(Row<T, F, L>{});
}

}  // namespace newtonnet
