// The Python module: checks every array where it enters, then runs the kernels without Python's lock. This file is
// compiled once for each instruction set, into a module with the name MODULE_NAME.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <ranges>
#include <sstream>

#include "kernels.h"

namespace py = pybind11;

namespace newtonnet {

constexpr i64 LAST_CACHE = 1 << 24;  // a block above this many bytes is taken not to stay in any cache
constexpr i64 CORE_CACHE = 1 << 18;  // a block above this many bytes is taken not to stay in a core's own cache
constexpr i64 WORTH_THINNING = 128;  // columns below which a zero is multiplied faster than it is left out

// ---- tensors

using Shape = std::vector<i64>;

template <class T> PyObject* type_of = nullptr;                             // torch's type, which is never freed
struct { PyObject *dtype, *is_cpu, *shape, *is_contiguous, *data_ptr; } names;  // of attributes, made once

std::ostream& operator<<(std::ostream& to, const Shape& shape) {
  to << "(";
  for (size_t k = 0; k < shape.size(); ++k) to << (k ? ", " : "") << shape[k];
  return to << ")";
}

// Throws an error with these parts as its message, unless all is right.
template <class Error, class... Parts> void require(bool right, const Parts&... parts) {
  if (right) return;
  std::ostringstream message;
  (message << ... << parts);
  throw Error(message.str());
}

// A contiguous tensor on the CPU, or None.
struct Array {
  const char* name;
  PyObject* dtype = Py_None;
  void* data = nullptr;
  Shape shape;
  i64 count = 1;

  Array(const char* called, py::handle tensor, size_t dimensions = 0) : name(called) {
    require<py::type_error>(!dimensions || !tensor.is_none(), name, " must be a torch tensor, got None");
    if (tensor.is_none()) return;
    require<py::type_error>(py::hasattr(tensor, "data_ptr"), name, " must be a torch tensor, got ",
                            Py_TYPE(tensor.ptr())->tp_name);
    const auto get = [&](PyObject* attribute) { return py::object(tensor.attr(py::handle(attribute))); };
    dtype = get(names.dtype).ptr();
    require<py::type_error>(get(names.is_cpu).cast<bool>(), name, " must be on the CPU");
    for (const py::handle size : py::tuple(get(names.shape))) count *= shape.emplace_back(size.cast<i64>());
    require<py::value_error>(!dimensions || dimensions == shape.size(), name, " must have ", dimensions,
                             " dimensions, got ", shape);
    require<py::value_error>(get(names.is_contiguous)().cast<bool>(), name, " must be contiguous");
    data = PyLong_AsVoidPtr(get(names.data_ptr)().ptr());
  }

  bool given() const { return dtype != Py_None; }

  // The data, if the type is T and the shape is as expected.
  template <class T> T* as(const Shape& expected) const {
    const py::handle wanted = type_of<T>, got = dtype;
    require<py::type_error>(got.is(wanted), name, " must be of type ", wanted, ", got ", got);
    require<py::value_error>(shape == expected, name, " must have shape ", expected, ", got ", shape);
    return static_cast<T*>(data);
  }
  template <class T> T* or_null(const Shape& expected) const { return given() ? as<T>(expected) : nullptr; }
};

// Calls f with a number of the array's type.
template <class F> void by_type(const Array& x, const F& f) {
  if (x.dtype == type_of<float>) return f(0.0f);
  require<py::type_error>(x.dtype == type_of<double>, x.name, " must be of type float32 or float64");
  f(0.0);
}

struct Keys : Mask {  // a mask from Python, or None
  std::vector<u64> own;

  Keys(py::handle given, i64 members) {
    if (given.is_none()) return;
    own = given.attr("keys").cast<std::vector<u64>>();
    const i64 limit = given.attr("threshold").cast<i64>(), count = i64(own.size());
    require<py::value_error>(count == members, "a mask must have one key for each of ", members,
                             " members, got ", count);
    require<py::value_error>(limit >= 0 && limit <= 65535, "a mask's threshold must be from 0 to 65535");
    keys = own.data();
    threshold = u16(limit);
    scale = given.attr("scale").cast<double>();
  }
};

// ---- threads

// Calls f(lo, hi, thread) for shares of n rows; with row pointers, shares of equal work: entries and a little per row.
template <class F> void in_shares(Team& team, i64 n, const i32* rows, const F& f) {
  const auto work = [&](i64 row) { return (rows ? rows[row] : 0) + 2 * row; };
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

// Python checks the numbers of the rows, columns and order; the tensors must not be written to afterwards.
struct Csr {
  py::tuple kept;
  Array order, values, scale;  // None for a matrix that only `multiply` reads
  const i32 *rows, *columns;
  i64 n, entries;

  Csr(py::object r, py::object c, py::object o, py::object v, py::object s)
      : kept(py::make_tuple(r, c, o, v, s)), order("order", o), values("values", v), scale("scale", s) {
    const Array row_pointers("row pointers", r, 1), column_indices("column indices", c, 1);
    n = row_pointers.count - 1;
    entries = column_indices.count - AHEAD;
    require<py::value_error>(n >= 0 && entries >= 0, "a matrix needs a row pointer, and ", AHEAD,
                             " indices behind its entries");
    rows = row_pointers.as<i32>({n + 1});
    columns = column_indices.as<i32>({entries + AHEAD});
    if (!scale.given()) return;
    order.as<i32>({n});
    by_type(scale, [&]<class T>(T) { scale.as<T>({n}), values.or_null<T>({entries}); });
  }
};

void run_series(const Csr& op, py::handle x_, py::handle other_, py::handle coefficients_, py::handle out_,
                py::handle inner_, i64 threads) {
  const Array x("x", x_, 2), other("against", other_), coefficients("coefficients", coefficients_, 2);
  const Array out("out", out_), inner("inner products", inner_);
  const i64 n = op.n, columns = x.shape[1], terms = coefficients.shape[0];
  require<py::value_error>(terms > 0, "coefficients must have one row or more");
  by_type(op.scale, [&]<class T>(T) {
    Series<T> s{.matrix = {op.rows, op.columns, static_cast<const T*>(op.values.data)},
                .order = static_cast<const i32*>(op.order.data),
                .scale = static_cast<const T*>(op.scale.data),
                .x = x.as<T>({n, columns}),
                .other = other.or_null<T>({n, columns}),
                .coefficients = coefficients.as<T>({terms, columns}),
                .out = out.as<T>({n, columns}),
                .columns = columns,
                .degree = terms - 1};
    T* products = other.given() ? inner.as<T>({terms, columns}) : nullptr;
    if (products) std::fill_n(products, terms * columns, T(0));
    if (x.count == 0) return;
    // So many columns at once that a block stays in the cache, if eight do; rows fill lines of 64 bytes.
    const i64 fitting = LAST_CACHE / (n * i64(sizeof(T))), line = 64 / i64(sizeof(T));
    s.at_once = std::min({columns, WIDEST<T>, std::max<i64>(fitting / line * line, 8)});
    s.prefetch = n * s.at_once * i64(sizeof(T)) > CORE_CACHE;
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, n));
    s.team = &team;
    const i64 width = with_row<T>(s.at_once, []<class R>(R) { return R::width; });
    const i64 height = n * width, parts = team.size * terms * columns;
    Workspace room;
    s.inner = room.array<T>(parts);
    s.a = room.array<T>(height);
    s.b = room.array<T>(height);
    s.total = room.array<T>(height);
    s.against = products ? room.array<T>(height) : nullptr;
    in_shares(team, n, op.rows, [&](i64 lo, i64 hi, int thread) { series(s, lo, hi, thread); });
    if (products) add_up(s.inner, team.size, terms * columns, products);
  });
}

void run_multiply(const Csr& matrix, py::handle values_, py::handle x_, py::handle out_, bool gaps, py::handle bias_,
                  py::handle mask_, i64 threads) {
  const Array values("values", values_), x("x", x_, 3), out("out", out_), bias("bias", bias_);
  const i64 n = matrix.n, m = x.shape[0], members = x.shape[1], d = x.shape[2], entries = matrix.entries;
  const Keys mask(mask_, members);
  by_type(x, [&]<class T>(T) {
    Product<T> s{{matrix.rows, matrix.columns, values.as<T>({entries})}, x.as<T>(x.shape),
                 bias.or_null<T>({members, d}), out.as<T>({n, members, d}), m, members, d, mask};
    if (out.count == 0) return;
    py::gil_scoped_release unlocked;
    if (!s.bias && !s.mask.keys) {  // no need to distinguish members
      s.d *= s.members;
      s.members = 1;
    }
    // Zeros are left out where all tiles of the product sum equally many entries side by side.
    const auto sums_of = [](i64 tile) {
      return with_row<T>(tile, []<class R>(R) { return side_by_side(R::registers); });
    };
    const i64 rest = s.d % WIDEST<T>;
    const int sums = sums_of(std::min(s.d, WIDEST<T>));
    Workspace room;
    if (gaps && members * d >= WORTH_THINNING && (!rest || sums_of(rest) == sums)) {
      T* kept = room.array<T>(entries);
      i32 *rows = room.array<i32>(n + 1), *columns = room.array<i32>(entries + AHEAD);
      leave_out_zeros(s.matrix, n, sums, rows, columns, kept);
      s.matrix = {rows, columns, kept};
    }
    Team team(std::min(threads, n));
    in_shares(team, n, s.matrix.rows, [&](i64 lo, i64 hi, int) { multiply(s, lo, hi); });
  });
}

// ---- dense blocks

void run_drop(py::handle x_, py::handle out_, py::handle mask_, i64 word, i64 threads) {
  const Array x("x", x_, 3), out("out", out_);
  const i64 n = x.shape[0], members = x.shape[1], d = x.shape[2];
  const Keys mask(mask_, members);
  require<py::type_error>(mask.keys || !members, "dropout needs a mask, got None");
  by_type(x, [&]<class T>(T) {
    const T* from = x.as<T>(x.shape);
    T* to = out.as<T>(x.shape);
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, n));
    in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int) { drop(from, to, members, d, word, mask, lo, hi); });
  });
}

void run_backward(py::handle gradient_, py::handle weight_, py::handle hidden_, double scale, py::handle of_z_,
                  py::handle of_weight_, py::handle of_bias_, i64 threads) {
  const Array gradient("gradient", gradient_, 3), weight("weight", weight_), hidden("hidden", hidden_, 3);
  const Array z("z", of_z_), of_weight("gradient of the weight", of_weight_), of_bias("gradient of the bias", of_bias_);
  const i64 n = hidden.shape[0], members = hidden.shape[1], d = hidden.shape[2], classes = gradient.shape[2];
  by_type(hidden, [&]<class T>(T) {
    const Layer<T> s{hidden.as<T>(hidden.shape), weight.as<T>({members, classes, d}),
                     gradient.as<T>({n, members, classes}), z.as<T>(hidden.shape),
                     of_weight.as<T>({members, classes, d}), of_bias.as<T>({members, d}),
                     members, d, classes, T(scale)};
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, n));
    const i64 many = members * classes * d, few = members * d, all = team.size * (many + few);
    Workspace room;
    T *parts = room.array<T>(all), *more = parts + team.size * many;
    std::fill_n(parts, all, T(0));
    in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int thread) {
      Layer<T> part = s;
      part.of_weight = parts + thread * many;
      part.of_bias = more + thread * few;
      backward(part, lo, hi);
    });
    add_up(parts, team.size, many, s.of_weight);
    add_up(more, team.size, few, s.of_bias);
  });
}

void run_adam(py::handle parameter, py::handle gradient_, py::handle first_, py::handle second_, py::handle rates_,
              py::handle decays_, i64 axis, i64 step, bool decoupled, double beta1, double beta2, double epsilon) {
  const Array value("parameter", parameter), gradient("gradient", gradient_), first("first moment", first_);
  const Array second("second moment", second_), rates("rates", rates_), decays("decays", decays_);
  require<py::value_error>(size_t(axis) < value.shape.size(), "axis must be one of the parameter's");
  require<py::value_error>(step >= 1, "step must be 1 or more");
  const i64 members = value.shape[size_t(axis)];
  require<py::value_error>(rates.count == members && decays.count == members,
                           "rates and decays must have one number for each of ", members, " members");
  i64 inner = 1;  // numbers behind each other that belong to the same member
  for (size_t k = size_t(axis) + 1; k < value.shape.size(); ++k) inner *= value.shape[k];
  const AdamStep s{beta1, beta2, epsilon, 1 - std::pow(beta1, step), 1 - std::pow(beta2, step), decoupled};
  by_type(value, [&]<class T>(T) {
    T *x = value.as<T>(value.shape), *a = first.as<T>(value.shape), *b = second.as<T>(value.shape);
    const T *g = gradient.as<T>(value.shape), *rate = rates.as<T>(rates.shape), *decay = decays.as<T>(decays.shape);
    py::gil_scoped_release unlocked;
    for (i64 at = 0; at < value.count; at += inner) {
      const i64 member = at / inner % members;
      adam(s, rate[member], decay[member], inner, x + at, a + at, b + at, g + at);
    }
  });
}

PYBIND11_MODULE(MODULE_NAME, m) {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {name("dtype"), name("is_cpu"), name("shape"), name("is_contiguous"), name("data_ptr")};
  const py::module_ torch = py::module_::import("torch");
  const auto type = [&](const char* name) { return py::object(torch.attr(name)).release().ptr(); };
  type_of<float> = type("float32");
  type_of<double> = type("float64");
  type_of<i32> = type("int32");
  type_of<i64> = type("int64");
  pool();  // so that every fork from here on finds it made
  const py::object none = py::none();
  py::class_<Csr>(m, "Csr", py::module_local())
      .def(py::init<py::object, py::object, py::object, py::object, py::object>(), py::arg(), py::arg(),
           py::arg() = none, py::arg() = none, py::arg() = none);
  m.def("series", run_series);
  m.def("multiply", run_multiply);
  m.def("drop", run_drop);
  m.def("backward", run_backward);
  m.def("adam", run_adam);
}

}  // namespace newtonnet
