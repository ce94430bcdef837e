// What the kernels are given, and a table of them for each instruction set.
#pragma once
#include <cstdint>

namespace newtonnet {

using i16 = std::int16_t;
using i32 = std::int32_t;
using i64 = std::int64_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr int AHEAD = 32;  // entries between the one that is summed and the one whose row is prefetched

struct Mask {  // dropout: one key for each member; without keys there is none
  const u64* keys;
  u16 threshold;
  double scale;
};

template <class T> struct Matrix {  // CSR; no values: all are 1. The column indices go on for AHEAD entries.
  const i32 *rows, *columns;
  const T* values;
};

template <class T> struct Series {  // out = sum of c_k T_k(-A) x, and the inner products of every term with `other`
  Matrix<T> matrix;
  const i32* order;
  const T *scale, *factor, *unscale, *x, *other, *weights;
  T *out, *inner, *a, *b, *total, *against;  // inner: (threads, degree + 1, columns)
  i64 columns, at_once, degree;
  bool ahead;
  i64 threads, *arrived;
};

template <class T> struct Product {  // out = A x, or drop(max(A x + bias, 0)); x: (m, members, d)
  Matrix<T> matrix;
  const T *x, *bias;
  T* out;
  i64 m, members, d;
  Mask mask;
  bool ahead;
};

template <class T> struct Thin {  // the entries that are not 0; order: the place of every entry's value, or null
  Matrix<T> matrix;
  const i64* order;
  i32 *rows, *columns;
  T* values;
  i64 n, entries;
};

template <class T> struct Layer {  // h W + b, or from its gradient those of z in h = drop(ReLU(z)), of W' and of b
  const T *hidden, *weight, *bias, *gradient;  // weight: rows of padded(classes) numbers; for gradients (members, C, d)
  T* out;
  i64 members, d, classes, strip;
  T scale;
};

template <class T> struct Adam {  // a parameter seen as (outer, members, inner)
  T *value, *first, *second;
  const T *gradient, *rates, *decays;
  i64 outer, members, inner;
  double beta1, beta2, epsilon, first_bias, second_bias;
  bool decoupled;
};

template <class T> struct Correct {
  const T* logits;
  const i64* labels;
  const unsigned char* parts;
  i16* classes;
  i64* counts;
  bool* finite;
  i64 n, members, choices;
};

template <class T> struct Kernels {
  void (*series)(const Series<T>&, i64 lo, i64 hi, int thread);
  void (*multiply)(const Product<T>&, i64 lo, i64 hi);
  bool (*thin)(const Thin<T>&, int side_by_side);
  void (*drop)(const T* x, T* out, i64 members, i64 d, i64 word, const Mask&, i64 lo, i64 hi);
  void (*combine)(const Layer<T>&, i64 lo, i64 hi);
  void (*back)(const Layer<T>&, i64 lo, i64 hi, T* of_weight, T* of_bias);
  void (*adam)(const Adam<T>&);
  bool (*correct)(const Correct<T>&);
  bool (*agree)(const i32* one, const i32* two, const i16* classes, i64 nodes, i64 members, i64 pairs, i64* counts);
  int (*side_by_side)(i64 width);  // entries that a product with so many columns sums side by side
  i64 (*padded)(i64 width);        // numbers in the registers of a row
  i64 widest;
};

namespace baseline { extern const Kernels<float> floats; extern const Kernels<double> doubles; }
namespace avx2 { extern const Kernels<float> floats; extern const Kernels<double> doubles; }
namespace avx512 { extern const Kernels<float> floats; extern const Kernels<double> doubles; }

}  // namespace newtonnet
