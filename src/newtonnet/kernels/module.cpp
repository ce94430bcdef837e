// The Python module `_native`: checks every array where it enters, then runs the kernels without the interpreter's lock.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels.h"
#include "threads.h"

namespace py = pybind11;

namespace newtonnet {
namespace {

// ---- instruction sets

struct Tables {
  const char* name;
  const Kernels<float>* floats;
  const Kernels<double>* doubles;
};

// Those that this processor has, the fastest last.
std::vector<Tables> instruction_sets() {
  std::vector<Tables> found{{"baseline", &baseline::floats, &baseline::doubles}};
#ifdef NEWTONNET_X86
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    found.push_back({"avx2", &avx2::floats, &avx2::doubles});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
      found.push_back({"avx512", &avx512::floats, &avx512::doubles});
  }
#endif
  return found;
}

Tables active = instruction_sets().back();

template <class T> const Kernels<T>& kernels() {
  if constexpr (sizeof(T) == 4) return *active.floats;
  else return *active.doubles;
}

struct Limits {
  i64 last_cache = 1 << 24;     // a block above this many bytes is taken not to stay in any cache
  i64 core_cache = 1 << 18;     // a block above this many bytes is taken not to stay in a core's own cache
  i64 strip = 1 << 19;          // bytes of a wide block that every member passes over before the next are begun
  i64 worth_thinning = 128;     // columns below which a zero is multiplied faster than it is left out
} limits;

// ---- tensors

struct Torch {  // what is looked up once; never freed, since it may outlive the interpreter
  PyObject *dtype, *shape, *is_cpu, *is_contiguous, *data_ptr;
  PyObject *float32, *float64, *i16, *i32, *i64, *u8, *boolean;
} names;

template <class T> PyObject* dtype_of() {
  if constexpr (std::is_same_v<T, float>) return names.float32;
  else if constexpr (std::is_same_v<T, double>) return names.float64;
  else if constexpr (std::is_same_v<T, i16>) return names.i16;
  else if constexpr (std::is_same_v<T, i32>) return names.i32;
  else if constexpr (std::is_same_v<T, i64>) return names.i64;
  else if constexpr (std::is_same_v<T, bool>) return names.boolean;
  else return names.u8;
}

std::string listed(const i64* shape, int ndim) {
  std::string text = "(";
  for (int k = 0; k < ndim; ++k) text += (k ? ", " : "") + std::to_string(shape[k]);
  return text + ")";
}

// A contiguous tensor on the CPU, or none.
struct Array {
  static constexpr int MOST = 8;
  const char* name;
  void* data = nullptr;
  PyObject* dtype = nullptr;  // torch keeps its types for good
  i64 shape[MOST], count = 1;
  int ndim = 0;

  Array(py::handle tensor, const char* called) : name(called) {
    if (tensor.is_none()) return;
    const auto get = [&](PyObject* attribute) {
      PyObject* found = PyObject_GetAttr(tensor.ptr(), attribute);
      if (!found) {
        PyErr_Clear();
        throw py::type_error(std::string(name) + " must be a torch tensor, got " + Py_TYPE(tensor.ptr())->tp_name);
      }
      return py::reinterpret_steal<py::object>(found);
    };
    const auto call = [&](PyObject* method) {
      PyObject* found = PyObject_CallMethodNoArgs(tensor.ptr(), method);
      if (!found) throw py::error_already_set();
      return py::reinterpret_steal<py::object>(found);
    };
    dtype = get(names.dtype).ptr();
    if (get(names.is_cpu).ptr() != Py_True) throw py::type_error(std::string(name) + " must be on the CPU");
    const py::object sizes = get(names.shape);
    if (!PyTuple_Check(sizes.ptr()) || PyTuple_GET_SIZE(sizes.ptr()) > MOST)
      throw py::type_error(std::string(name) + " must be a torch tensor of at most 8 dimensions");
    ndim = int(PyTuple_GET_SIZE(sizes.ptr()));
    for (int k = 0; k < ndim; ++k) count *= shape[k] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes.ptr(), k));
    if (call(names.is_contiguous).ptr() != Py_True)
      throw py::value_error(std::string(name) + " must be contiguous; call .contiguous() on it");
    data = PyLong_AsVoidPtr(call(names.data_ptr).ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
  }

  // The data, if the type is T and the shape is as expected.
  template <class T> T* as(std::initializer_list<i64> expected) const {
    if (!dtype) throw py::type_error(std::string(name) + " must be a torch tensor, got None");
    if (dtype != dtype_of<T>())
      throw py::type_error(std::string(name) + " must be of type " + std::string(py::str(dtype_of<T>())) + ", got " +
                           std::string(py::str(dtype)));
    if (int(expected.size()) != ndim || !std::equal(expected.begin(), expected.end(), shape))
      throw py::value_error(std::string(name) + " must have shape " + listed(expected.begin(), int(expected.size())) +
                            ", got " + listed(shape, ndim));
    return static_cast<T*>(data);
  }
  template <class T> T* or_null(std::initializer_list<i64> expected) const { return dtype ? as<T>(expected) : nullptr; }

  void dimensions(int expected) const {
    if (dtype && ndim != expected)
      throw py::value_error(std::string(name) + " must have " + std::to_string(expected) + " dimensions, got shape " +
                            listed(shape, ndim));
  }
};

// Calls f with a number of the array's type.
template <class F> void by_type(const Array& x, const F& f) {
  if (x.dtype == names.float32) f(0.0f);
  else if (x.dtype == names.float64) f(0.0);
  else throw py::type_error(std::string(x.name) + " must be of type float32 or float64");
}

struct Keys {  // the attributes of a mask
  std::vector<u64> keys;
  Mask mask{nullptr, 0, 1.0};

  Keys(py::handle given, i64 members) {
    if (given.is_none()) return;
    const py::tuple all = given.attr("keys");
    for (const py::handle key : all) keys.push_back(PyLong_AsUnsignedLongLongMask(key.ptr()));
    if (PyErr_Occurred()) throw py::error_already_set();
    const i64 threshold = given.attr("threshold").cast<i64>();
    if (i64(keys.size()) != members)
      throw py::value_error("the mask must have one key for each of " + std::to_string(members) + " members, got " +
                            std::to_string(keys.size()));
    if (threshold < 0 || threshold > 65535) throw py::value_error("the mask's threshold must be from 0 to 65535");
    mask = {keys.data(), u16(threshold), given.attr("scale").cast<double>()};
  }
};

// ---- threads

int at_most(i64 threads, i64 parts) { return int(std::max<i64>(1, std::min<i64>({threads, parts, 1024}))); }

// Runs f(lo, hi, thread) over 0 to n in equal shares.
template <class F> void in_shares(Team& team, i64 n, const F& f) {
  const i64 threads = team.size();
  auto share = [&](int thread) { f(n * thread / threads, n * (thread + 1) / threads, thread); };
  team.run(share);
}

// The same over rows of a sparse matrix in shares of equal work: its entries, and a little for every row.
template <class F> void in_shares(Team& team, const i32* rows, i64 n, const F& f) {
  const i64 threads = team.size(), all = rows[n] + 2 * n;
  const auto bound = [&](i64 thread) {
    i64 lo = 0, hi = n;
    while (lo < hi) {
      const i64 middle = (lo + hi) / 2;
      if ((rows[middle] + 2 * middle) * threads < all * thread) lo = middle + 1;
      else hi = middle;
    }
    return lo;
  };
  auto share = [&](int thread) { f(bound(thread), thread + 1 == threads ? n : bound(thread + 1), thread); };
  team.run(share);
}

template <class T> void add_up(const T* parts, i64 threads, i64 count, T* total) {
  std::copy(parts, parts + count, total);
  for (i64 k = 1; k < threads; ++k)
    for (i64 j = 0; j < count; ++j) total[j] += parts[k * count + j];
}

// ---- sparse matrices

// Row pointers and column indices, checked once. The tensors must not be written to afterwards.
struct Pattern {
  py::object kept_rows, kept_columns;
  const i32 *rows, *columns;
  i64 n, entries, width = 0;  // width: one more than the largest column index

  Pattern(py::object rows_tensor, py::object columns_tensor) : kept_rows(rows_tensor), kept_columns(columns_tensor) {
    const Array r(rows_tensor, "row pointers"), c(columns_tensor, "column indices");
    r.dimensions(1), c.dimensions(1);
    rows = r.as<i32>({r.count}), columns = c.as<i32>({c.count});
    n = r.count - 1, entries = c.count - AHEAD;
    if (n < 0 || entries < 0)
      throw py::value_error("a sparse matrix needs one row pointer or more, and 32 column indices behind its entries");
    i32 least = 0, most = -1, down = 0;
    for (i64 i = 0; i < n; ++i) down |= rows[i + 1] < rows[i];
    if (down || rows[0] != 0 || rows[n] != entries)
      throw py::value_error("row pointers must rise from 0 to the number of entries, " + std::to_string(entries));
    for (i64 e = 0; e < c.count; ++e) least = std::min(least, columns[e]), most = std::max(most, columns[e]);
    if (least < 0) throw py::value_error("column indices must not be negative, got " + std::to_string(least));
    width = n || entries ? i64(most) + 1 : 0;
  }

  void check(i64 m, const char* what) const {
    if (entries && width > m)
      throw py::value_error("column index " + std::to_string(width - 1) + " needs more rows than the " +
                            std::to_string(m) + " of " + what);
  }
};

// A square matrix as a series of products reads it; see newtonnet.graphs.plan.
struct Operator {
  Pattern pattern;
  py::object kept_order, kept_values, kept_scale;
  Array order, values, scale;
  std::vector<char> made;  // the squares of the scales, then their inverses

  Operator(py::object rows, py::object columns, py::object order_tensor, py::object values_tensor, py::object scales)
      : pattern(rows, columns), kept_order(order_tensor), kept_values(values_tensor), kept_scale(scales),
        order(order_tensor, "order"), values(values_tensor, "values"), scale(scales, "scale") {
    const i64 n = pattern.n;
    pattern.check(n, "a square matrix");
    const i32* places = order.as<i32>({n});
    std::vector<bool> seen(size_t(n), false);
    for (i64 i = 0; i < n; ++i) {
      if (places[i] < 0 || places[i] >= n || seen[size_t(places[i])])
        throw py::value_error("order must hold every number from 0 to " + std::to_string(n - 1) + " once");
      seen[size_t(places[i])] = true;
    }
    by_type(scale, [&](auto zero) {
      using T = decltype(zero);
      values.or_null<T>({pattern.entries});
      const T* own = scale.as<T>({n});
      made.resize(size_t(2 * n) * sizeof(T));
      T *factor = reinterpret_cast<T*>(made.data()), *unscale = factor + n;
      for (i64 i = 0; i < n; ++i) factor[i] = own[i] * own[i], unscale[i] = 1 / own[i];
    });
  }
};

template <class T> i64 columns_at_once(i64 n) {
  const i64 fitting = limits.last_cache / std::max<i64>(1, n * i64(sizeof(T))), line = 64 / i64(sizeof(T));
  return std::min(kernels<T>().widest, std::max<i64>(fitting / line * line, 8));
}

void series(const Operator& op, py::handle x_, py::handle other_, py::handle weights_, py::handle out_,
            py::handle inner_, i64 threads) {
  const Array x(x_, "x"), other(other_, "against"), weights(weights_, "coefficients"), out(out_, "out"),
      inner(inner_, "inner products");
  x.dimensions(2), weights.dimensions(2);
  if (weights.ndim != 2 || weights.shape[0] < 1) throw py::value_error("coefficients must have one row or more");
  const i64 n = op.pattern.n, columns = x.shape[1], terms = weights.shape[0];
  by_type(op.scale, [&](auto zero) {
    using T = decltype(zero);
    Series<T> s{};
    s.matrix = {op.pattern.rows, op.pattern.columns, static_cast<const T*>(op.values.data)};
    s.order = static_cast<const i32*>(op.order.data);
    s.scale = static_cast<const T*>(op.scale.data);
    s.factor = reinterpret_cast<const T*>(op.made.data()), s.unscale = s.factor + n;
    s.x = x.as<T>({n, columns}), s.other = other.or_null<T>({n, columns}), s.weights = weights.as<T>({terms, columns});
    s.out = out.as<T>({n, columns});
    T* found = s.other ? inner.as<T>({terms, columns}) : nullptr;
    s.nodes = n, s.columns = columns, s.degree = terms - 1, s.at_once = std::min(columns, columns_at_once<T>(n));
    if (n == 0 || columns == 0) {
      if (found) std::fill(found, found + terms * columns, T(0));
      return;
    }
    s.ahead = n * s.at_once * i64(sizeof(T)) > limits.core_cache;
    py::gil_scoped_release unlocked;
    Team team(at_most(threads, n));
    s.threads = team.size();
    const i64 height = n * kernels<T>().padded(s.at_once), parts = s.other ? s.threads * terms * columns : 0;
    Room room(size_t(s.other ? 4 : 3) * Room::bytes(size_t(height), sizeof(T)) + Room::bytes(size_t(parts), sizeof(T)));
    for (T** block : {&s.a, &s.b, &s.total}) *block = room.array<T>(size_t(height));
    if (s.other) s.against = room.array<T>(size_t(height)), s.inner = room.array<T>(size_t(parts));
    in_shares(team, s.matrix.rows, n, [&](i64 lo, i64 hi, int thread) { kernels<T>().series(s, lo, hi, thread); });
    if (s.other) add_up(s.inner, s.threads, terms * columns, found);
  });
}

void multiply(const Pattern& pattern, py::handle values_, py::handle x_, py::handle out_, py::handle order_, bool gaps,
              py::handle bias_, py::handle mask_, i64 threads) {
  const Array values(values_, "values"), x(x_, "x"), out(out_, "out"), order(order_, "order"), bias(bias_, "bias");
  x.dimensions(3);
  const i64 n = pattern.n, members = x.shape[1], d = x.shape[2], wide = members * d;
  pattern.check(x.shape[0], "x");
  const Keys keys(mask_, members);
  by_type(x, [&](auto zero) {
    using T = decltype(zero);
    const Kernels<T>& kernel = kernels<T>();
    Product<T> s{};
    s.matrix = {pattern.rows, pattern.columns, values.as<T>({pattern.entries})};
    s.x = x.as<T>({x.shape[0], members, d}), s.out = out.as<T>({n, members, d}), s.bias = bias.or_null<T>({members, d});
    s.m = x.shape[0], s.members = members, s.d = d, s.mask = keys.mask;
    s.ahead = x.count * i64(sizeof(T)) > limits.core_cache;
    const i64* places = order.or_null<i64>({pattern.entries});
    if (wide == 0) return;
    if (pattern.entries && s.m == 0) throw py::value_error("x must have a row or more");
    py::gil_scoped_release unlocked;
    const i64 whole = s.bias || s.mask.keys ? d : wide, rest = whole % kernel.widest;
    int side = kernel.side_by_side(whole < kernel.widest ? whole : kernel.widest);
    if (rest && kernel.side_by_side(rest) != side) side = 0;
    const bool thinner = gaps && wide >= limits.worth_thinning && side, moved = !thinner && places;
    const size_t count = size_t(pattern.entries), rows = size_t(n) + 1;
    Room room(thinner || moved ? Room::bytes(count, sizeof(T)) + Room::bytes(rows + count + AHEAD, 4) + 64 : 0);
    T* stored = room.array<T>(count);
    if (thinner) {
      i32 *new_rows = room.array<i32>(rows), *new_columns = room.array<i32>(count + AHEAD);
      if (!kernel.thin({s.matrix, places, new_rows, new_columns, stored, n, pattern.entries}, side)) side = -1;
      s.matrix = {new_rows, new_columns, stored};
    } else if (moved) {
      for (size_t e = 0; e < count && side >= 0; ++e)
        if (u64(places[e]) < count) stored[e] = s.matrix.values[places[e]];
        else side = -1;
      s.matrix.values = stored;
    }
    if (side < 0) {
      py::gil_scoped_acquire locked;
      throw py::value_error("order must hold places from 0 to " + std::to_string(i64(count) - 1));
    }
    Team team(at_most(threads, n));
    in_shares(team, s.matrix.rows, n, [&](i64 lo, i64 hi, int) { kernel.multiply(s, lo, hi); });
  });
}

// ---- dense blocks

void drop(py::handle x_, py::handle out_, py::handle mask_, i64 first, i64 threads) {
  const Array x(x_, "x"), out(out_, "out");
  x.dimensions(3);
  const Keys keys(mask_, x.shape[1]);
  if (!keys.mask.keys && x.shape[1]) throw py::type_error("dropout needs a mask, got None");
  by_type(x, [&](auto zero) {
    using T = decltype(zero);
    const i64 n = x.shape[0], members = x.shape[1], d = x.shape[2];
    Drop<T> s{x.as<T>({n, members, d}), out.as<T>({n, members, d}), members, d, first * ((d + 3) / 4), keys.mask};
    py::gil_scoped_release unlocked;
    Team team(at_most(threads, n));
    in_shares(team, n, [&](i64 lo, i64 hi, int) { kernels<T>().drop(s, lo, hi); });
  });
}

// One long row by the mask's only key: as rows of 64 numbers, and what is left over.
void drop_flat(py::handle x_, py::handle out_, py::handle mask_, i64 threads) {
  constexpr i64 FLAT = 64;
  const Array x(x_, "x"), out(out_, "out");
  const Keys keys(mask_, 1);
  if (!keys.mask.keys) throw py::type_error("dropout needs a mask, got None");
  if (out.dtype != x.dtype || out.count != x.count) throw py::value_error("out must be like x");
  by_type(x, [&](auto zero) {
    using T = decltype(zero);
    const i64 n = x.count / FLAT, rest = x.count % FLAT;
    const T* from = static_cast<const T*>(x.data);
    T* to = static_cast<T*>(out.data);
    const Drop<T> rows{from, to, 1, FLAT, 0, keys.mask};
    const Drop<T> last{from + n * FLAT, to + n * FLAT, 1, rest, n * (FLAT / 4), keys.mask};
    py::gil_scoped_release unlocked;
    Team team(at_most(threads, n));
    in_shares(team, n, [&](i64 lo, i64 hi, int) { kernels<T>().drop(rows, lo, hi); });
    if (rest) kernels<T>().drop(last, 0, 1);
  });
}

void combine(py::handle hidden_, py::handle weight_, py::handle bias_, py::handle out_, i64 threads) {
  const Array hidden(hidden_, "hidden"), weight(weight_, "weight"), bias(bias_, "bias"), out(out_, "out");
  hidden.dimensions(3), weight.dimensions(3);
  by_type(hidden, [&](auto zero) {
    using T = decltype(zero);
    const i64 n = hidden.shape[0], members = hidden.shape[1], d = hidden.shape[2], classes = weight.shape[2];
    const i64 wide = members * d * i64(sizeof(T)), rows = std::max<i64>(1, limits.strip / std::max<i64>(1, wide));
    Combine<T> s{hidden.as<T>({n, members, d}), weight.as<T>({members, d, classes}), bias.as<T>({members, classes}),
                 out.as<T>({n, members, classes}), members, d, classes, n * wide > limits.last_cache ? rows : n};
    if (d == 0) throw py::value_error("weight must have one input or more");
    py::gil_scoped_release unlocked;
    Team team(at_most(threads, n));
    in_shares(team, n, [&](i64 lo, i64 hi, int) { kernels<T>().combine(s, lo, hi); });
  });
}

void back(py::handle gradient_, py::handle weight_, py::handle hidden_, double scale, py::handle z_,
          py::handle weight_gradient_, py::handle bias_gradient_, i64 threads) {
  const Array gradient(gradient_, "gradient"), weight(weight_, "weight"), hidden(hidden_, "hidden"), z(z_, "z"),
      weight_gradient(weight_gradient_, "gradient of the weight"), bias_gradient(bias_gradient_, "gradient of the bias");
  gradient.dimensions(3), hidden.dimensions(3);
  by_type(hidden, [&](auto zero) {
    using T = decltype(zero);
    const i64 n = hidden.shape[0], members = hidden.shape[1], d = hidden.shape[2], classes = gradient.shape[2];
    const i64 many = members * classes * d, few = members * d;
    Back<T> s{gradient.as<T>({n, members, classes}), weight.as<T>({members, classes, d}),
              hidden.as<T>({n, members, d}), z.as<T>({n, members, d}), members, d, classes, T(scale)};
    T *of_weight = weight_gradient.as<T>({members, classes, d}), *of_bias = bias_gradient.as<T>({members, d});
    py::gil_scoped_release unlocked;
    Team team(at_most(threads, n));
    Room room(Room::bytes(size_t(team.size() * (many + few)), sizeof(T)));
    T *parts = room.array<T>(size_t(team.size() * (many + few))), *bias_parts = parts + team.size() * many;
    std::fill(parts, bias_parts, T(0));
    in_shares(team, n, [&](i64 lo, i64 hi, int thread) {
      kernels<T>().back(s, lo, hi, parts + thread * many, bias_parts + thread * few);
    });
    add_up(parts, team.size(), many, of_weight), add_up(bias_parts, team.size(), few, of_bias);
  });
}

void adam(py::handle parameter_, py::handle gradient_, py::handle first_, py::handle second_, py::handle rates_,
          py::handle decays_, int axis, i64 step, bool decoupled, double beta1, double beta2, double epsilon) {
  const Array value(parameter_, "parameter"), gradient(gradient_, "gradient"), first(first_, "first moment"),
      second(second_, "second moment"), rates(rates_, "rates"), decays(decays_, "decays");
  for (const Array* other : {&gradient, &first, &second})
    if (other->dtype != value.dtype || other->ndim != value.ndim ||
        !std::equal(value.shape, value.shape + value.ndim, other->shape))
      throw py::value_error(std::string(other->name) + " must have the type and shape of the parameter, " +
                            listed(value.shape, value.ndim) + ", got " + listed(other->shape, other->ndim));
  if (axis < 0 || axis >= value.ndim) throw py::value_error("axis must be one of the parameter's");
  if (step < 1) throw py::value_error("step must be 1 or more");
  for (const Array* other : {&rates, &decays})
    if (other->dtype != value.dtype || other->count != value.shape[axis])
      throw py::value_error(std::string(other->name) + " must have the parameter's type and one number for each of " +
                            std::to_string(value.shape[axis]) + " members, got " + std::to_string(other->count));
  by_type(value, [&](auto zero) {
    using T = decltype(zero);
    const auto of = [](const Array& array) { return static_cast<T*>(array.data); };
    Adam<T> s{of(value), of(first), of(second), of(gradient), of(rates), of(decays), 1, value.shape[axis], 1,
              {beta1, beta2}, epsilon, 1 - std::pow(beta1, step), 1 - std::pow(beta2, step), decoupled};
    for (int k = 0; k < value.ndim; ++k)
      if (k != axis) (k < axis ? s.outer : s.inner) *= value.shape[k];
    py::gil_scoped_release unlocked;
    kernels<T>().adam(s);
  });
}

void count_correct(py::handle logits_, py::handle labels_, py::handle parts_, py::handle classes_, py::handle counts_,
                   py::handle finite_) {
  const Array logits(logits_, "logits"), labels(labels_, "labels"), parts(parts_, "parts"), classes(classes_, "classes"),
      counts(counts_, "counts"), finite(finite_, "finite");
  logits.dimensions(3);
  by_type(logits, [&](auto zero) {
    using T = decltype(zero);
    const i64 n = logits.shape[0], members = logits.shape[1], choices = logits.shape[2];
    if (choices < 1 || choices > 32767) throw py::value_error("logits must be of 1 to 32767 classes");
    Correct<T> s{logits.as<T>({n, members, choices}), labels.as<i64>({n}), parts.as<unsigned char>({n, members}),
                 classes.as<i16>({n, members}), counts.as<i64>({3, members}),
                 reinterpret_cast<unsigned char*>(finite.as<bool>({members})), n, members, choices};
    bool fine;
    {
      py::gil_scoped_release unlocked;
      fine = kernels<T>().correct(s);
    }
    if (!fine) throw py::value_error("labels must be from -32768 to 32767");
  });
}

void agreeing(py::handle pairs_, py::handle classes_, py::handle counts_, i64 threads) {
  const Array pairs(pairs_, "pairs"), classes(classes_, "classes"), counts(counts_, "counts");
  pairs.dimensions(2), classes.dimensions(2);
  const i64 edges = pairs.shape[1], nodes = classes.shape[0], members = classes.shape[1];
  const i32* ends = pairs.as<i32>({2, edges});
  const Agree s{ends, ends + edges, classes.as<i16>({nodes, members}), nodes, members};
  i64* total = counts.as<i64>({members});
  int outside = 0;
  {
    py::gil_scoped_release unlocked;
    Team team(at_most(threads, edges));
    std::vector<i64> found(size_t(team.size() * members), 0);
    in_shares(team, edges, [&](i64 lo, i64 hi, int thread) {
      if (!active.floats->agree(s, lo, hi, found.data() + thread * members))
        __atomic_store_n(&outside, 1, __ATOMIC_RELAXED);
    });
    add_up(found.data(), team.size(), members, total);
  }
  if (outside) throw py::value_error("pairs must hold nodes from 0 to " + std::to_string(nodes - 1));
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  const py::module_ torch = py::module_::import("torch");
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  const auto type = [&](const char* text) { return torch.attr(text).cast<py::object>().release().ptr(); };
  names = {name("dtype"), name("shape"), name("is_cpu"), name("is_contiguous"), name("data_ptr"), type("float32"),
           type("float64"), type("int16"), type("int32"), type("int64"), type("uint8"), type("bool")};
  pool();  // so that every fork from here on finds it made
  m.attr("AHEAD") = AHEAD;
  py::class_<Pattern>(m, "Pattern").def(py::init<py::object, py::object>()).def_readonly("width", &Pattern::width);
  py::class_<Operator>(m, "Operator")
      .def(py::init<py::object, py::object, py::object, py::object, py::object>());
  py::class_<Limits>(m, "Limits")
      .def_readwrite("last_cache", &Limits::last_cache)
      .def_readwrite("core_cache", &Limits::core_cache)
      .def_readwrite("strip", &Limits::strip)
      .def_readwrite("worth_thinning", &Limits::worth_thinning);
  m.attr("limits") = py::cast(&limits, py::return_value_policy::reference);
  m.def("instruction_sets", [] {
    std::vector<std::string> found;
    for (const Tables& one : instruction_sets()) found.emplace_back(one.name);
    return found;
  });
  m.def("use_instructions", [](const std::string& wanted) {
    for (const Tables& one : instruction_sets())
      if (wanted == one.name) {
        active = one;
        return;
      }
    throw py::value_error("this processor has no instruction set " + wanted + " among those that were built");
  });
  m.def("series", series), m.def("multiply", multiply), m.def("drop", drop), m.def("drop_flat", drop_flat);
  m.def("combine", combine), m.def("back", back), m.def("adam", adam), m.def("count_correct", count_correct);
  m.def("agreeing", agreeing);
}

}  // namespace newtonnet
