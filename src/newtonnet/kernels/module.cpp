// The Python module `_native`: checks every array where it enters, then runs the kernels without Python's lock.
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

const Kernels<float>* floats = &baseline::floats;
const Kernels<double>* doubles = &baseline::doubles;

template <class T> const Kernels<T>& kernels() {
  if constexpr (sizeof(T) == 4) return *floats;
  else return *doubles;
}

// The instruction sets that this processor has, the fastest last.
std::vector<std::string> instruction_sets() {
  std::vector<std::string> found{"baseline"};
#ifdef NEWTONNET_X86
  const auto has = [](auto... flags) { return (flags && ...); };
#define HAS(name) bool(__builtin_cpu_supports(name))
  if (has(HAS("avx2"), HAS("fma"))) found.push_back("avx2");
  if (has(HAS("avx2"), HAS("fma"), HAS("avx512f"), HAS("avx512vl"), HAS("avx512dq"), HAS("avx512bw")))
    found.push_back("avx512");
#endif
  return found;
}

void use_instructions(const std::string& name) {
  const auto all = instruction_sets();
  if (std::find(all.begin(), all.end(), name) == all.end())
    throw py::value_error("this processor has no instruction set " + name + " among those that were built");
  floats = &baseline::floats, doubles = &baseline::doubles;
#ifdef NEWTONNET_X86
  if (name == "avx2") floats = &avx2::floats, doubles = &avx2::doubles;
  if (name == "avx512") floats = &avx512::floats, doubles = &avx512::doubles;
#endif
}

struct Limits {
  i64 last_cache = 1 << 24;  // a block above this many bytes is taken not to stay in any cache
  i64 core_cache = 1 << 18;  // a block above this many bytes is taken not to stay in a core's own cache
  i64 strip = 1 << 19;       // bytes of a wide block that every member passes over before the next are begun
  i64 worth_thinning = 128;  // columns below which a zero is multiplied faster than it is left out
} limits;

// ---- tensors

template <class T> PyObject* type_of = nullptr;  // torch keeps its types for good
struct { PyObject *dtype, *is_cpu, *shape, *is_contiguous, *data_ptr; } names;  // strings made once

std::string listed(const std::vector<i64>& shape) {
  std::string text = "(";
  for (size_t k = 0; k < shape.size(); ++k) text += (k ? ", " : "") + std::to_string(shape[k]);
  return text + ")";
}

// A contiguous tensor on the CPU, or None.
struct Array {
  std::string name;  // short ones take no memory of their own
  void* data = nullptr;
  PyObject* dtype = nullptr;
  std::vector<i64> shape;
  i64 count = 1;

  Array(const char* called, py::handle tensor, int dimensions = -1) : name(called) {
    if (tensor.is_none()) return;
    const auto get = [&](PyObject* attribute) {
      if (PyObject* found = PyObject_GetAttr(tensor.ptr(), attribute)) return py::reinterpret_steal<py::object>(found);
      PyErr_Clear();
      throw py::type_error(name + " must be a torch tensor, got " + Py_TYPE(tensor.ptr())->tp_name);
    };
    dtype = get(names.dtype).ptr();
    if (get(names.is_cpu).ptr() != Py_True) throw py::type_error(name + " must be on the CPU");
    const py::tuple sizes = get(names.shape);
    for (const py::handle size : sizes) shape.push_back(PyLong_AsLongLong(size.ptr())), count *= shape.back();
    if (dimensions >= 0 && dimensions != int(shape.size()))
      throw py::value_error(name + " must have " + std::to_string(dimensions) + " dimensions, got " + listed(shape));
    if (get(names.is_contiguous)().ptr() != Py_True) throw py::value_error(name + " must be contiguous");
    data = PyLong_AsVoidPtr(get(names.data_ptr)().ptr());
    if (PyErr_Occurred()) throw py::error_already_set();
  }

  // The data, if the type is T and the shape is as expected.
  template <class T> T* as(const std::vector<i64>& expected) const {
    if (dtype != type_of<T>)
      throw py::type_error(name + " must be of type " + std::string(py::str(type_of<T>)) + ", got " +
                           (dtype ? std::string(py::str(dtype)) : "None"));
    if (expected != shape)
      throw py::value_error(name + " must have shape " + listed(expected) + ", got " + listed(shape));
    return static_cast<T*>(data);
  }
  template <class T> T* or_null(const std::vector<i64>& expected) const { return dtype ? as<T>(expected) : nullptr; }
};

// Calls f with a number of the array's type.
template <class F> void by_type(const Array& x, const F& f) {
  if (x.dtype == type_of<float>) f(0.0f);
  else if (x.dtype == type_of<double>) f(0.0);
  else throw py::type_error(x.name + " must be of type float32 or float64");
}

struct Keys {  // a mask of Python's
  std::vector<u64> keys;
  Mask mask{nullptr, 0, 1.0};

  Keys(py::handle given, i64 members) {
    if (given.is_none()) return;
    for (const py::handle key : given.attr("keys")) keys.push_back(PyLong_AsUnsignedLongLongMask(key.ptr()));
    if (PyErr_Occurred()) throw py::error_already_set();
    const i64 threshold = given.attr("threshold").cast<i64>();
    if (i64(keys.size()) != members)
      throw py::value_error("a mask must have one key for each of " + std::to_string(members) + " members, got " +
                            std::to_string(keys.size()));
    if (threshold < 0 || threshold > 65535) throw py::value_error("a mask's threshold must be from 0 to 65535");
    mask = {keys.data(), u16(threshold), given.attr("scale").cast<double>()};
  }
};

// ---- threads

// Calls f(lo, hi, thread) for shares of n rows; with row pointers, shares of equal work: entries and a little per row.
template <class F> void in_shares(Team& team, i64 n, const i32* rows, const F& f) {
  const i64 threads = team.size();
  const auto bound = [&](i64 thread) {
    if (!rows || thread == 0 || thread == threads) return n * thread / threads;
    i64 lo = 0, hi = n;
    while (lo < hi) {
      const i64 middle = (lo + hi) / 2;
      if ((rows[middle] + 2 * middle) * threads < (rows[n] + 2 * n) * thread) lo = middle + 1;
      else hi = middle;
    }
    return lo;
  };
  team.run([&](int thread) { f(bound(thread), bound(thread + 1), thread); });
}

template <class T> void add_up(const T* parts, i64 threads, i64 count, T* total) {
  std::fill(total, total + count, T(0));
  for (i64 k = 0; k < threads * count; ++k) total[k % count] += parts[k];
}

// ---- sparse matrices, checked once; the tensors must not be written to afterwards

struct Csr {
  py::tuple kept;
  Array row_pointers, column_indices, order, values, scale;
  const i32 *rows, *columns;
  i64 n, entries, width = 0;   // width: one more than the largest column index
  std::vector<double> factor;  // the squares of the scales, then their inverses, in the scales' own type

  Csr(py::object r, py::object c, py::object o, py::object v, py::object s)
      : kept(py::make_tuple(r, c, o, v, s)), row_pointers("row pointers", r, 1), column_indices("column indices", c, 1),
        order("order", o, 1), values("values", v, 1), scale("scale", s, 1) {
    n = row_pointers.count - 1, entries = column_indices.count - AHEAD;
    rows = row_pointers.as<i32>({n + 1}), columns = column_indices.as<i32>({entries + AHEAD});
    if (n < 0 || entries < 0) throw py::value_error("a matrix needs a row pointer, and 32 indices behind its entries");
    if (!std::is_sorted(rows, rows + n + 1) || rows[0] != 0 || rows[n] != entries)
      throw py::value_error("row pointers must rise from 0 to the number of entries, " + std::to_string(entries));
    for (i64 e = 0; e < entries + AHEAD; ++e) width = std::max(width, i64(u32(columns[e])) + 1);
    if (width > i64(1) << 31) throw py::value_error("column indices must not be negative");
    if (!scale.dtype) return;
    check(n, "a square matrix");
    std::vector<char> seen(size_t(n), 0);
    for (const i32 *place = order.as<i32>({n}), *end = place + n; place < end; ++place)
      if (*place < 0 || *place >= n || seen[size_t(*place)]++)
        throw py::value_error("order must hold every number from 0 to " + std::to_string(n - 1) + " once");
    by_type(scale, [&](auto zero) {
      using T = decltype(zero);
      values.or_null<T>({entries});
      factor.resize(size_t(2 * n));
      const T* own = scale.as<T>({n});
      T* made = reinterpret_cast<T*>(factor.data());
      for (i64 i = 0; i < n; ++i) made[i] = own[i] * own[i], made[n + i] = 1 / own[i];
    });
  }

  void check(i64 m, const char* what) const {
    if (entries && width > m)
      throw py::value_error("column index " + std::to_string(width - 1) + " needs more rows than the " +
                            std::to_string(m) + " of " + what);
  }
};

void series(const Csr& op, py::handle x_, py::handle other_, py::handle weights_, py::handle out_, py::handle inner_,
            i64 threads) {
  const Array x("x", x_, 2), other("against", other_), weights("coefficients", weights_, 2), out("out", out_),
      inner("inner products", inner_);
  if (!weights.count && !weights.shape[0]) throw py::value_error("coefficients must have one row or more");
  const i64 n = op.n, columns = x.shape[1], terms = weights.shape[0];
  by_type(op.scale, [&](auto zero) {
    using T = decltype(zero);
    const Kernels<T>& kernel = kernels<T>();
    const T *scale = static_cast<const T*>(op.scale.data), *factor = reinterpret_cast<const T*>(op.factor.data());
    i64 arrived = 0;
    Series<T> s{};
    s.matrix = {op.rows, op.columns, static_cast<const T*>(op.values.data)};
    s.order = static_cast<const i32*>(op.order.data), s.scale = scale, s.factor = factor, s.unscale = factor + n;
    s.x = x.as<T>({n, columns}), s.other = other.or_null<T>({n, columns});
    s.weights = weights.as<T>({terms, columns}), s.out = out.as<T>({n, columns});
    T* found = other.dtype ? inner.as<T>({terms, columns}) : nullptr;
    if (found) std::fill(found, found + terms * columns, T(0));
    if (x.count == 0) return;
    // So many columns at once that a block stays in the cache, if eight do; rows fill lines of 64 bytes.
    const i64 fitting = limits.last_cache / (n * i64(sizeof(T))), line = 64 / i64(sizeof(T));
    s.at_once = std::min({columns, kernel.widest, std::max<i64>(fitting / line * line, 8)});
    s.columns = columns, s.degree = terms - 1, s.arrived = &arrived;
    s.ahead = n * s.at_once * i64(sizeof(T)) > limits.core_cache;
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, n));
    s.threads = team.size();
    const size_t height = size_t(n * kernel.padded(s.at_once)), parts = size_t(s.threads * terms * columns);
    Room room((found ? 4 : 3) * Room::bytes(height, sizeof(T)) + Room::bytes(parts, sizeof(T)));
    s.inner = room.array<T>(parts), s.a = room.array<T>(height), s.b = room.array<T>(height);
    s.total = room.array<T>(height), s.against = found ? room.array<T>(height) : nullptr;
    in_shares(team, n, op.rows, [&](i64 lo, i64 hi, int thread) { kernel.series(s, lo, hi, thread); });
    if (found) add_up(s.inner, s.threads, terms * columns, found);
  });
}

void multiply(const Csr& matrix, py::handle values_, py::handle x_, py::handle out_, py::handle order_, bool gaps,
              py::handle bias_, py::handle mask_, i64 threads) {
  const Array values("values", values_), x("x", x_, 3), out("out", out_), order("order", order_), bias("bias", bias_);
  const i64 n = matrix.n, m = x.shape[0], members = x.shape[1], d = x.shape[2], entries = matrix.entries;
  matrix.check(m, "x");
  const Keys keys(mask_, members);
  by_type(x, [&](auto zero) {
    using T = decltype(zero);
    const Kernels<T>& kernel = kernels<T>();
    Product<T> s{{matrix.rows, matrix.columns, values.as<T>({entries})}, x.as<T>(x.shape),
                 bias.or_null<T>({members, d}), out.as<T>({n, members, d}), m, members, d, keys.mask,
                 x.count * i64(sizeof(T)) > limits.core_cache};
    const i64* places = order.or_null<i64>({entries});
    if (out.count == 0) return;
    bool fine = true;
    {
      py::gil_scoped_release unlocked;
      const i64 wide = s.bias || s.mask.keys ? d : members * d, rest = wide % kernel.widest;
      const int side = kernel.side_by_side(std::min(wide, kernel.widest));
      const bool thin = gaps && members * d >= limits.worth_thinning && (!rest || kernel.side_by_side(rest) == side);
      const size_t count = size_t(entries), made = thin || places ? count : 0;
      Room room(Room::bytes(made, sizeof(T)) + Room::bytes(size_t(n) + 1, 4) + Room::bytes(made + AHEAD, 4));
      T* kept = room.array<T>(made);
      i32 *rows = room.array<i32>(size_t(n) + 1), *columns = room.array<i32>(made + AHEAD);
      if (thin) {
        fine = kernel.thin({s.matrix, places, rows, columns, kept, n, entries}, side);
        s.matrix = {rows, columns, kept};
      } else if (places) {
        for (size_t e = 0; e < count && fine; ++e)
          if ((fine = u64(places[e]) < count)) kept[e] = s.matrix.values[places[e]];
        s.matrix.values = kept;
      }
      if (fine) {
        Team team(std::min(threads, n));
        in_shares(team, n, s.matrix.rows, [&](i64 lo, i64 hi, int) { kernel.multiply(s, lo, hi); });
      }
    }
    if (!fine) throw py::value_error("order must hold places from 0 to " + std::to_string(entries - 1));
  });
}

// ---- dense blocks

void drop(py::handle x_, py::handle out_, py::handle mask_, i64 word, i64 threads) {
  const Array x("x", x_, 3), out("out", out_);
  const i64 n = x.shape[0], members = x.shape[1], d = x.shape[2];
  const Keys keys(mask_, members);
  if (mask_.is_none()) throw py::type_error("dropout needs a mask, got None");
  by_type(x, [&](auto zero) {
    using T = decltype(zero);
    const T* from = x.as<T>(x.shape);
    T* to = out.as<T>(x.shape);
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, n));
    in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int) {
      kernels<T>().drop(from, to, members, d, word, keys.mask, lo, hi);
    });
  });
}

void combine(py::handle hidden_, py::handle weight_, py::handle bias_, py::handle out_, i64 threads) {
  const Array hidden("hidden", hidden_, 3), weight("weight", weight_, 3), bias("bias", bias_), out("out", out_);
  const i64 n = hidden.shape[0], members = hidden.shape[1], d = hidden.shape[2], classes = weight.shape[2];
  by_type(hidden, [&](auto zero) {
    using T = decltype(zero);
    const i64 wide = members * d * i64(sizeof(T)), strip = limits.strip / std::max<i64>(1, wide);
    const T* from = weight.as<T>({members, d, classes});
    Layer<T> s{hidden.as<T>(hidden.shape), nullptr, bias.as<T>({members, classes}), nullptr,
               out.as<T>({n, members, classes}), members, d, classes,
               std::max<i64>(1, n * wide > limits.last_cache ? strip : n), T(0)};
    if (classes < 1 || classes > kernels<T>().widest) throw py::value_error("weight must have few columns");
    py::gil_scoped_release unlocked;
    const i64 padded = kernels<T>().padded(classes);
    Room room(Room::bytes(size_t(members * d * padded), sizeof(T)));
    T* to = room.array<T>(size_t(members * d * padded));
    for (i64 j = 0; j < members * d; ++j) std::copy_n(from + j * classes, classes, to + j * padded);
    s.weight = to;
    Team team(std::min(threads, n));
    in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int) { kernels<T>().combine(s, lo, hi); });
  });
}

void back(py::handle gradient_, py::handle weight_, py::handle hidden_, double scale, py::handle z_,
          py::handle of_weight_, py::handle of_bias_, i64 threads) {
  const Array gradient("gradient", gradient_, 3), weight("weight", weight_), hidden("hidden", hidden_, 3), z("z", z_),
      of_weight("gradient of the weight", of_weight_), of_bias("gradient of the bias", of_bias_);
  const i64 n = hidden.shape[0], members = hidden.shape[1], d = hidden.shape[2], classes = gradient.shape[2];
  by_type(hidden, [&](auto zero) {
    using T = decltype(zero);
    const Layer<T> s{hidden.as<T>(hidden.shape), weight.as<T>({members, classes, d}), nullptr,
                     gradient.as<T>({n, members, classes}), z.as<T>(hidden.shape), members, d, classes, n, T(scale)};
    T *weights = of_weight.as<T>({members, classes, d}), *biases = of_bias.as<T>({members, d});
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, n));
    const i64 many = members * classes * d, few = members * d, all = team.size() * (many + few);
    Room room(Room::bytes(size_t(all), sizeof(T)));
    T *parts = room.array<T>(size_t(all)), *more = parts + team.size() * many;
    std::fill(parts, parts + all, T(0));
    in_shares(team, n, nullptr, [&](i64 lo, i64 hi, int thread) {
      kernels<T>().back(s, lo, hi, parts + thread * many, more + thread * few);
    });
    add_up(parts, team.size(), many, weights), add_up(more, team.size(), few, biases);
  });
}

void adam(py::handle parameter, py::handle gradient_, py::handle first_, py::handle second_, py::handle rates_,
          py::handle decays_, i64 axis, i64 step, bool decoupled, double beta1, double beta2, double epsilon) {
  const Array value("parameter", parameter), gradient("gradient", gradient_), first("first moment", first_),
      second("second moment", second_), rates("rates", rates_), decays("decays", decays_);
  if (axis < 0 || axis >= i64(value.shape.size())) throw py::value_error("axis must be one of the parameter's");
  const i64 members = value.shape[size_t(axis)];
  if (step < 1) throw py::value_error("step must be 1 or more");
  if (rates.count != members || decays.count != members)
    throw py::value_error("rates and decays must have one number for each of " + std::to_string(members) + " members");
  by_type(value, [&](auto zero) {
    using T = decltype(zero);
    Adam<T> s{value.as<T>(value.shape), first.as<T>(value.shape), second.as<T>(value.shape),
              gradient.as<T>(value.shape), rates.as<T>(rates.shape), decays.as<T>(decays.shape), 1, members, 1, beta1,
              beta2, epsilon, 1 - std::pow(beta1, step), 1 - std::pow(beta2, step), decoupled};
    for (i64 k = 0; k < i64(value.shape.size()); ++k)
      if (k != axis) (k < axis ? s.outer : s.inner) *= value.shape[size_t(k)];
    py::gil_scoped_release unlocked;
    kernels<T>().adam(s);
  });
}

void count_correct(py::handle logits_, py::handle labels_, py::handle parts_, py::handle classes_, py::handle counts_,
                   py::handle finite_) {
  const Array logits("logits", logits_, 3), labels("labels", labels_), parts("parts", parts_),
      classes("classes", classes_), counts("counts", counts_), finite("finite", finite_);
  const i64 n = logits.shape[0], members = logits.shape[1], choices = logits.shape[2];
  if (choices < 1 || choices > 32767) throw py::value_error("logits must be of 1 to 32767 classes");
  by_type(logits, [&](auto zero) {
    using T = decltype(zero);
    const Correct<T> s{logits.as<T>(logits.shape), labels.as<i64>({n}), parts.as<unsigned char>({n, members}),
                       classes.as<i16>({n, members}), counts.as<i64>({3, members}), finite.as<bool>({members}), n,
                       members, choices};
    bool fine;
    {
      py::gil_scoped_release unlocked;
      fine = kernels<T>().correct(s);
    }
    if (!fine) throw py::value_error("labels must be from -32768 to 32767");
  });
}

void agreeing(py::handle pairs_, py::handle classes_, py::handle counts_, i64 threads) {
  const Array pairs("pairs", pairs_, 2), classes("classes", classes_, 2), counts("counts", counts_);
  const i64 edges = pairs.shape[1], nodes = classes.shape[0], members = classes.shape[1];
  const i32* ends = pairs.as<i32>({2, edges});
  const i16* known = classes.as<i16>(classes.shape);
  i64* total = counts.as<i64>({members});
  int outside = 0;
  {
    py::gil_scoped_release unlocked;
    Team team(std::min(threads, edges));
    std::vector<i64> found(size_t(team.size() * members), 0);
    in_shares(team, edges, nullptr, [&](i64 lo, i64 hi, int thread) {
      i64* own = found.data() + thread * members;
      if (!floats->agree(ends + lo, ends + edges + lo, known, nodes, members, hi - lo, own))
        __atomic_store_n(&outside, 1, __ATOMIC_RELAXED);
    });
    add_up(found.data(), team.size(), members, total);
  }
  if (outside) throw py::value_error("pairs must hold nodes from 0 to " + std::to_string(nodes - 1));
}

}  // namespace

PYBIND11_MODULE(_native, m) {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {name("dtype"), name("is_cpu"), name("shape"), name("is_contiguous"), name("data_ptr")};
  const py::module_ torch = py::module_::import("torch");
  const auto type = [&](const char* text) { return py::object(torch.attr(text)).release().ptr(); };
  type_of<float> = type("float32"), type_of<double> = type("float64"), type_of<bool> = type("bool");
  type_of<i16> = type("int16"), type_of<i32> = type("int32"), type_of<i64> = type("int64");
  type_of<unsigned char> = type("uint8");
  use_instructions(instruction_sets().back());
  pool();  // so that every fork from here on finds it made
  const py::object none = py::none();
  py::class_<Csr>(m, "Csr").def(py::init<py::object, py::object, py::object, py::object, py::object>(), py::arg(),
                                py::arg(), py::arg() = none, py::arg() = none, py::arg() = none);
  py::class_<Limits>(m, "Limits")
      .def_readwrite("last_cache", &Limits::last_cache)
      .def_readwrite("core_cache", &Limits::core_cache)
      .def_readwrite("strip", &Limits::strip)
      .def_readwrite("worth_thinning", &Limits::worth_thinning);
  m.attr("limits") = py::cast(&limits, py::return_value_policy::reference);
  m.def("instruction_sets", instruction_sets), m.def("use_instructions", use_instructions);
  m.def("widest", [](bool single) { return single ? floats->widest : doubles->widest; });
  m.def("series", series), m.def("multiply", multiply), m.def("drop", drop), m.def("combine", combine);
  m.def("back", back), m.def("adam", adam), m.def("count_correct", count_correct), m.def("agreeing", agreeing);
}

}  // namespace newtonnet
