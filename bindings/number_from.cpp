// SPDX-License-Identifier: MIT
#include "number_from.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include "ref.h"

namespace tracker::python {
namespace {

using internal::bits_of;
using internal::ValueType;

NumberResult reject_pending(std::string* why) {
  if (must_propagate()) return NumberResult::kRaised;
  *why = take_error_text();
  return NumberResult::kRejected;
}

NumberResult reject(std::string* why, std::string text) {
  *why = std::move(text);
  return NumberResult::kRejected;
}

NumberResult from_int(PyObject* value, Number* out, std::string* why) {
  if (number_from_builtin(value, out)) return NumberResult::kOk;
  const double rounded = PyLong_AsDouble(value);
  if (rounded == -1.0 && PyErr_Occurred() != nullptr) return reject_pending(why);
  *out = {ValueType::kFloat64, bits_of(rounded), true};
  return NumberResult::kOk;
}

// The bits of a double in `type`, if it is exact in it; a NaN remains a NaN.
bool narrow(double value, ValueType type, uint64_t* bits) {
  switch (type) {
    case ValueType::kFloat32: *bits = bits_of(static_cast<float>(value)); return true;
    case ValueType::kBFloat16: {
      const auto word = static_cast<uint32_t>(bits_of(static_cast<float>(value)));
      *bits = (word >> 16) | (value != value ? 0x40u : 0u);
      return true;
    }
    case ValueType::kFloat16: {
      char bytes[2];
      uint16_t half;
      if (PyFloat_Pack2(value, bytes, PY_LITTLE_ENDIAN) < 0) return false;
      std::memcpy(&half, bytes, 2);
      *bits = half;
      return true;
    }
    default: *bits = bits_of(value); return true;
  }
}

// --- through the buffer protocol, which has every bit -------------------------------------------------------------

template <typename T>
T load(const unsigned char* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

std::optional<uint64_t> load_unsigned(const unsigned char* at, Py_ssize_t size) {
  switch (size) {
    case 1: return *at;
    case 2: return load<uint16_t>(at);
    case 4: return load<uint32_t>(at);
    case 8: return load<uint64_t>(at);
    default: return std::nullopt;
  }
}

bool number_from_item(char code, const unsigned char* at, Py_ssize_t size, Number* out) {
  if (code == 'g' && size == sizeof(long double)) {
    *out = {ValueType::kFloat64, bits_of(static_cast<double>(load<long double>(at))), false};
    return true;
  }
  const std::optional<uint64_t> raw = load_unsigned(at, size);
  if (!raw) return false;
  if (code == '?') {
    *out = {ValueType::kBool, *raw != 0, false};
  } else if (code == 'd' && size == 8) {
    *out = {ValueType::kFloat64, *raw, false};
  } else if (code == 'f' && size == 4) {
    *out = {ValueType::kFloat32, *raw, false};
  } else if (code == 'e' && size == 2) {
    *out = {ValueType::kFloat16, *raw, false};
  } else if (std::strchr("bhilqn", code) != nullptr) {
    const int unused = static_cast<int>(64 - 8 * size);
    *out = {ValueType::kInt64, bits_of(static_cast<int64_t>(*raw << unused) >> unused), false};
  } else if (std::strchr("BHILQN", code) != nullptr) {
    if (*raw > static_cast<uint64_t>(INT64_MAX)) {
      *out = {ValueType::kFloat64, bits_of(static_cast<double>(*raw)), true};
    } else {
      *out = {ValueType::kInt64, *raw, false};
    }
  } else {
    return false;
  }
  return true;
}

// kOk, kRejected, or nothing if this object's buffer cannot be used and another way must be tried.
std::optional<NumberResult> from_buffer(PyObject* value, Number* out, std::string* why) {
  Py_buffer view;
  if (PyObject_GetBuffer(value, &view, PyBUF_FULL_RO) < 0) {
    if (must_propagate()) return NumberResult::kRaised;
    PyErr_Clear();  // NumPy exports no buffer of bfloat16 or datetime64
    return std::nullopt;
  }
  std::optional<NumberResult> result;
  const char* format = view.format != nullptr ? view.format : "B";
  const bool swapped = *format == (PY_LITTLE_ENDIAN ? '>' : '<') || *format == '!';
  if (std::strchr("@=<>!", *format) != nullptr) ++format;
  if (view.itemsize <= 0 || view.len != view.itemsize) {
    const Py_ssize_t elements = view.itemsize > 0 ? view.len / view.itemsize : 0;
    result = reject(why, "expected one element, got " + std::to_string(elements));
  } else if (std::strlen(format) == 1 && view.itemsize <= 16) {
    unsigned char item[16];
    std::memcpy(item, view.buf, static_cast<size_t>(view.itemsize));
    if (swapped) std::reverse(item, item + view.itemsize);
    if (number_from_item(*format, item, view.itemsize, out)) result = NumberResult::kOk;
  }
  PyBuffer_Release(&view);
  return result;
}

// --- through dtype and item() --------------------------------------------------------------------------------------

Ref optional_attribute(PyObject* object, const char* name) {
  Ref found(PyObject_GetAttrString(object, name));
  if (!found && !must_propagate()) PyErr_Clear();
  return found;
}

// How many elements: torch has numel(), the others an int `size`. -1: neither.
Py_ssize_t element_count(PyObject* object) {
  const Ref numel = optional_attribute(object, "numel");
  const Ref count = numel ? Ref(PyObject_CallNoArgs(numel.get())) : optional_attribute(object, "size");
  if (!count || !PyLong_Check(count.get())) {
    if (!must_propagate()) PyErr_Clear();
    return -1;
  }
  return PyLong_AsSsize_t(count.get());
}

// "float32" from numpy's dtype, torch.float32 and tf.float32.
ValueType type_of_dtype(PyObject* dtype) {
  const Ref shown(PyObject_Str(dtype));
  std::string_view text;
  if (!shown || !utf8_of(shown.get(), &text)) {
    PyErr_Clear();
    return ValueType::kFloat64;
  }
  if (text.starts_with("<dtype: '") && text.size() > 11) text = text.substr(9, text.size() - 11);
  if (text.starts_with("torch.")) text.remove_prefix(6);
  if (text == "float32" || text == "float") return ValueType::kFloat32;
  if (text == "float16" || text == "half") return ValueType::kFloat16;
  if (text == "bfloat16") return ValueType::kBFloat16;
  return ValueType::kFloat64;
}

bool is_complex(PyObject* dtype) {
  const Ref shown(PyObject_Str(dtype));
  std::string_view text;
  const bool readable = shown && utf8_of(shown.get(), &text);
  PyErr_Clear();
  return readable && text.find("complex") != std::string_view::npos;
}

NumberResult from_float(PyObject* value, ValueType type, Number* out, std::string* why) {
  const Ref converted(PyNumber_Float(value));
  if (!converted) return reject_pending(why);
  *out = {type, 0, false};
  if (!narrow(PyFloat_AS_DOUBLE(converted.get()), type, &out->bits)) return reject_pending(why);
  return NumberResult::kOk;
}

// A conversion to double turns a signalling NaN into a quiet one. NumPy's arrays and scalars of bfloat16 have
// tobytes(), tensors of torch a view of as many bits; for other types the NaN of float() is kept.
void keep_nan_bits(PyObject* value, ValueType type, Number* out) {
  const size_t width = value_width(type);
  if (type == ValueType::kBFloat16) {
    const Ref method = optional_attribute(value, "tobytes");
    const Ref bytes = method ? Ref(PyObject_CallNoArgs(method.get())) : Ref();
    if (bytes && PyBytes_Check(bytes.get()) && PyBytes_GET_SIZE(bytes.get()) == static_cast<Py_ssize_t>(width)) {
      out->bits = load<uint16_t>(reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.get())));
      return;
    }
  }
  if (!must_propagate()) PyErr_Clear();
  const Ref name(PyUnicode_FromString("torch"));
  const Ref torch = name ? Ref(PyImport_GetModule(name.get())) : Ref();
  const Ref integers = torch ? optional_attribute(torch.get(), width == 2   ? "int16"
                                                               : width == 4 ? "int32"
                                                                            : "int64")
                             : Ref();
  const Ref view = integers ? optional_attribute(value, "view") : Ref();
  const Ref bits = view ? Ref(PyObject_CallOneArg(view.get(), integers.get())) : Ref();
  const Ref item = bits ? optional_attribute(bits.get(), "item") : Ref();
  const Ref number = item ? Ref(PyObject_CallNoArgs(item.get())) : Ref();
  if (number && PyLong_Check(number.get())) {
    const auto word = static_cast<uint64_t>(PyLong_AsLongLong(number.get()));
    out->bits = width == 8 ? word : word & ((uint64_t{1} << 8 * width) - 1);
  }
  if (!must_propagate()) PyErr_Clear();
}

// A tensor of torch in the memory of a GPU, of NVIDIA or AMD.
bool is_on_device(PyObject* value) {
  const Ref said = optional_attribute(value, "is_cuda");
  return said.get() == Py_True;
}

NumberResult from_dtype(PyObject* value, PyObject* dtype, Number* out, std::string* why) {
  const Py_ssize_t elements = element_count(value);
  if (must_propagate()) return NumberResult::kRaised;
  if (elements >= 0 && elements != 1) return reject(why, "expected one element, got " + std::to_string(elements));
  const ValueType type = type_of_dtype(dtype);
  if (is_complex(dtype)) return reject(why, "expected a real number, got a complex one");
  if (elements == 1 && is_on_device(value)) {
    out->type = type;
    return NumberResult::kOnDevice;
  }
  const Ref detach = optional_attribute(value, "detach");
  if (PyErr_Occurred() != nullptr) return NumberResult::kRaised;
  Ref plain = detach ? Ref(PyObject_CallNoArgs(detach.get())) : Ref::borrow(value);
  if (!plain) return reject_pending(why);
  const Ref whole = Ref::borrow(plain.get());
  const Ref item = optional_attribute(plain.get(), "item");
  if (PyErr_Occurred() != nullptr) return NumberResult::kRaised;
  if (item) plain = Ref(PyObject_CallNoArgs(item.get()));
  if (!plain) return reject_pending(why);
  if (PyLong_Check(plain.get())) return from_int(plain.get(), out, why);  // bool too
  if (!PyNumber_Check(plain.get()) || PyComplex_Check(plain.get()))
    return reject(why, std::string("expected a number, got ") + Py_TYPE(value)->tp_name);
  const NumberResult result = from_float(plain.get(), type, out, why);
  if (result == NumberResult::kOk && PyFloat_Check(plain.get()) && std::isnan(PyFloat_AS_DOUBLE(plain.get())))
    keep_nan_bits(whole.get(), type, out);
  return PyErr_Occurred() != nullptr && result == NumberResult::kOk ? NumberResult::kRaised : result;
}

// A NumPy date or duration, recognised by its dtype. Its bytes alone would be read as eight numbers.
bool is_time(PyObject* dtype) {
  const Ref kind = optional_attribute(dtype, "kind");
  std::string_view text;
  const bool readable = kind && PyUnicode_Check(kind.get()) && utf8_of(kind.get(), &text);
  PyErr_Clear();
  return readable && (text == "M" || text == "m");
}

// numpy.ma.masked and the like: the number in their buffer is meaningless.
bool is_masked(PyObject* value) {
  if (std::strcmp(Py_TYPE(value)->tp_name, "numpy.ndarray") == 0) return false;
  const Ref mask = optional_attribute(value, "mask");
  const int masked = mask ? PyObject_IsTrue(mask.get()) : 0;
  if (!must_propagate()) PyErr_Clear();
  return masked > 0;
}

NumberResult from_object_with_dtype(PyObject* value, PyObject* dtype, Number* out, std::string* why) {
  std::optional<NumberResult> done;
  if (PyObject_CheckBuffer(value)) {
    if (is_masked(value)) return reject(why, "a masked value is no number");
    if (PyErr_Occurred() != nullptr) return NumberResult::kRaised;
    done = from_buffer(value, out, why);
  }
  if (!done) done = from_dtype(value, dtype, out, why);
  if (*done == NumberResult::kRejected && is_time(dtype))
    return reject(why, "a date or a duration (datetime64, timedelta64) is no number; log it in seconds, as a float");
  return *done;
}

}  // namespace

bool number_from_numpy_scalar(PyObject* value, Number* out) {
  const PyTypeObject* type = Py_TYPE(value);
  const std::string_view prefix = "numpy.";
  // Static types only: a class statement cannot make such a name.
  if ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0 || std::strncmp(type->tp_name, prefix.data(), prefix.size()) != 0)
    return false;
  const std::string_view name = type->tp_name + prefix.size();
  if (name == "float32" || name == "float16") {
    const Ref number(type->tp_as_number->nb_float(value));
    const double exact = number ? PyFloat_AS_DOUBLE(number.get()) : NAN;
    out->type = name == "float32" ? ValueType::kFloat32 : ValueType::kFloat16;
    if (exact == exact && narrow(exact, out->type, &out->bits)) return true;
  } else if (name.starts_with("int") || name.starts_with("uint")) {
    const Ref number(type->tp_as_number->nb_index(value));
    if (number && number_from_builtin(number.get(), out)) return true;
  } else if (name == "bool" || name == "bool_") {
    const int truth = PyObject_IsTrue(value);
    out->type = ValueType::kBool;
    out->bits = truth > 0 ? 1 : 0;
    if (truth >= 0) return true;
  }
  PyErr_Clear();
  return false;
}

NumberResult number_from(PyObject* value, Number* out, std::string* why) {
  if (number_from_builtin(value, out)) return NumberResult::kOk;
  if (PyLong_Check(value)) return from_int(value, out, why);
  // A type object has the attributes of its instances, but is not one.
  if (!PyType_Check(value)) {
    const Ref dtype = optional_attribute(value, "dtype");
    if (PyErr_Occurred() != nullptr) return NumberResult::kRaised;
    if (dtype) return from_object_with_dtype(value, dtype.get(), out, why);
    const PyNumberMethods* methods = Py_TYPE(value)->tp_as_number;
    if (methods != nullptr && methods->nb_index != nullptr) {
      const Ref integer(PyNumber_Index(value));
      return integer ? from_int(integer.get(), out, why) : reject_pending(why);
    }
    if (methods != nullptr && methods->nb_float != nullptr) return from_float(value, ValueType::kFloat64, out, why);
  }
  return reject(why, std::string("expected a number, str or None, got ") + Py_TYPE(value)->tp_name);
}

}  // namespace tracker::python
