// What comes from Python, checked where it enters: arrays, masks and matrices; and how work is shared among threads.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <ranges>
#include <sstream>

#include "kernels.h"

namespace py = pybind11;

namespace newtonnet {

using Shape = std::vector<i64>;
template <class T> using Block = py::array_t<T, py::array::c_style>;  // pybind11 refuses other types and gaps
template <class T> using Maybe = std::optional<Block<T>>;

inline std::ostream& operator<<(std::ostream& to, const Shape& shape) {
  to << "(";
  for (size_t k = 0; k < shape.size(); ++k) to << (k ? ", " : "") << shape[k];
  return to << ")";
}

// Throws an error with these parts as its message, unless all is right.
template <class... Parts> void require(bool right, const Parts&... parts) {
  if (right) return;
  std::ostringstream message;
  (message << ... << parts);
  throw py::value_error(message.str());
}

inline Shape shape_of(const py::array& x) { return {x.shape(), x.shape() + x.ndim()}; }

template <size_t D> std::array<i64, D> sizes(const char* name, const py::array& x) {
  std::array<i64, D> found;
  require(x.ndim() == D, name, " must have ", D, " dimensions, got ", shape_of(x));
  std::copy_n(x.shape(), D, found.begin());
  return found;
}

// The data of an array that must have this shape: to read, null where there is none, and to write.
template <class T> const T* read(const char* name, const Maybe<T>& x, const Shape& expected) {
  require(!x || shape_of(*x) == expected, name, " must have shape ", expected, ", got ", x ? shape_of(*x) : Shape{});
  return x ? x->data() : nullptr;
}
template <class T> const T* read(const char* name, const Block<T>& x, const Shape& expected) {
  require(shape_of(x) == expected, name, " must have shape ", expected, ", got ", shape_of(x));
  return x.data();
}
template <class T> T* write(const char* name, Block<T>& x, const Shape& expected) {
  read(name, x, expected);
  return x.mutable_data();
}
template <class T> T* write(const char* name, Maybe<T>& x, const Shape& expected) {
  return x ? write(name, *x, expected) : nullptr;
}

// Sums over no rows are 0.
inline void clear(Maybe<double>& x) {
  if (x) std::fill_n(x->mutable_data(), x->size(), 0.0);
}

using GivenMask = std::optional<std::tuple<std::vector<u64>, u16, double>>;  // keys, threshold, scale

inline Mask checked(const GivenMask& given, i64 members) {
  if (!given) return {};
  const auto& [keys, threshold, scale] = *given;
  require(i64(keys.size()) == members, "a mask must have one key for each of ", members, " members, got ", keys.size());
  return {keys.data(), threshold, scale};
}

// Bytes of a bool array, which need not be 0 or 1.
inline const std::uint8_t* bytes(const char* name, const Block<bool>& x, const Shape& expected) {
  return reinterpret_cast<const std::uint8_t*>(read(name, x, expected));
}

inline const i64* checked_labels(const Block<i64>& labels, i64 n, i64 classes) {
  const i64* label = read("labels", labels, {n});
  bool outside = false;
  for (i64 i = 0; i < n; ++i) outside |= u64(label[i]) >= u64(classes);
  require(!outside, "labels must be from 0 to ", classes - 1);
  return label;
}

// ---- threads

// Calls f(lo, hi, thread) for shares of n rows; with row pointers, shares of equal work: entries and a little per row.
template <class F> void in_shares(Team& team, i64 n, const i32* rows, const F& f, i64 per_row = 2) {
  const auto work = [&](i64 row) { return (rows ? rows[row] : 0) + per_row * row; };
  const auto all = std::views::iota(i64(0), n);
  const auto bound = [&](i64 thread) {  // the first row that has this share of the work before it
    if (thread == team.size) return n;
    const auto before = [&](i64 row) { return work(row) * team.size < work(n) * thread; };
    return i64(std::ranges::partition_point(all, before) - all.begin());
  };
  team.run([&](int thread) { f(bound(thread), bound(thread + 1), thread); });
}

template <class T> void add_up(const T* parts, i64 threads, i64 count, T* total) {
  std::copy_n(parts, count, total);
  for (i64 k = count; k < threads * count; ++k) total[k % count] += parts[k];
}

// ---- sparse matrices

// Python checks the numbers in the arrays, which must not be written to afterwards.
struct Csr {
  Block<i32> row_pointers, column_indices;
  i64 n, entries;

  Csr(Block<i32> rows, Block<i32> columns) : row_pointers(rows), column_indices(columns) {
    n = sizes<1>("row pointers", rows)[0] - 1;
    entries = sizes<1>("column indices", columns)[0] - AHEAD;
    require(n >= 0 && entries >= 0, "a matrix needs a row pointer, and ", AHEAD, " indices behind its entries");
  }
  template <class T> Matrix<T> with(const T* values) const {
    return {row_pointers.data(), column_indices.data(), values};
  }
};

template <class T> struct Operator {
  Csr matrix;
  Block<i32> order;
  Maybe<T> values;
  Block<T> scale;
};

template <class T>
Operator<T> make_operator(const Csr& matrix, Block<i32> order, Maybe<T> values, Block<T> scale) {
  read("order", order, {matrix.n});
  read("values", values, {matrix.entries});
  read("scale", scale, {matrix.n});
  return {matrix, order, values, scale};
}

}  // namespace newtonnet
