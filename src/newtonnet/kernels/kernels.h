// What the kernels are given, and a table of them for each instruction set.
#pragma once
#include <cstdint>

namespace newtonnet {

using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using u64 = std::uint64_t;

constexpr int AHEAD = 32;  // entries between the one that is summed and the one whose row is prefetched

struct Mask {  // dropout: one key for each member; no keys, no dropout
  const u64* keys;
  u16 threshold;
  double scale;
};

template <class T> struct Matrix {  // CSR; the column indices go on for AHEAD entries after the last
  const i32 *rows, *columns;
  const T* values;  // null for a pattern of ones
};

// out = sum of c_k T_k(-A) x, and the inner products of every term with `other`, some columns at a time.
template <class T> struct Series {
  Matrix<T> matrix;
  const i32* order;
  const T *factor, *scale, *unscale;
  const T *x, *other, *weights;
  T *out, *inner;  // inner: (threads, degree + 1, columns)
  T *a, *b, *total, *against;
  i64 nodes, columns, at_once, degree;
  bool ahead;
  int threads;
  mutable i64 arrived;
};

// out = A x, or drop(max(A x + bias, 0)), for x of shape (m, members, d).
template <class T> struct Product {
  Matrix<T> matrix;
  const T *x, *bias;
  T* out;
  i64 m, members, d;
  Mask mask;
  bool ahead;
};

template <class T> struct Drop {  // rows of (n, members, d); the first of them starts at `word`
  const T* x;
  T* out;
  i64 members, d, word;
  Mask mask;
};

template <class T> struct Combine {  // out = h W + b, member by member; `strip` rows before the next member
  const T *hidden, *weight, *bias;
  T* out;
  i64 members, d, classes, strip;
};

template <class T> struct Back {  // gradients of drop(ReLU(z)) W from those of its result; weight is (members, C, d)
  const T *gradient, *weight, *hidden;
  T* z;
  i64 members, d, classes;
  T scale;
};

template <class T> struct Thin {  // the entries that are not 0; order: the place of every entry's value, or null
  Matrix<T> matrix;
  const i64* order;
  i32 *rows, *columns;
  T* values;
  i64 n, entries;
};

template <class T> struct Adam {  // a parameter seen as (outer, members, inner)
  T *value, *first, *second;
  const T *gradient, *rates, *decays;
  i64 outer, members, inner;
  double betas[2], epsilon, first_bias, second_bias;
  bool decoupled;
};

template <class T> struct Correct {
  const T* logits;
  const i64* labels;
  const unsigned char* parts;
  i16* classes;
  i64* counts;
  unsigned char* finite;
  i64 n, members, choices;
};

struct Agree {
  const i32 *one, *two;
  const i16* classes;
  i64 nodes, members;
};

template <class T> struct Kernels {
  void (*series)(const Series<T>&, i64 lo, i64 hi, int thread);
  void (*multiply)(const Product<T>&, i64 lo, i64 hi);
  bool (*thin)(const Thin<T>&, int side_by_side);
  int (*side_by_side)(i64 width);  // entries that a product with so many columns sums side by side
  void (*drop)(const Drop<T>&, i64 lo, i64 hi);
  void (*combine)(const Combine<T>&, i64 lo, i64 hi);
  void (*back)(const Back<T>&, i64 lo, i64 hi, T* weight_gradient, T* bias_gradient);
  void (*adam)(const Adam<T>&);
  bool (*correct)(const Correct<T>&);
  bool (*agree)(const Agree&, i64 lo, i64 hi, i64* counts);
  i64 widest;    // columns that one pass over a sparse matrix handles
  i64 (*padded)(i64 width);  // numbers in the registers of a row
};

namespace baseline { extern const Kernels<float> floats; extern const Kernels<double> doubles; }
#ifdef NEWTONNET_X86
namespace avx2 { extern const Kernels<float> floats; extern const Kernels<double> doubles; }
namespace avx512 { extern const Kernels<float> floats; extern const Kernels<double> doubles; }
#endif

}  // namespace newtonnet
