// SPDX-License-Identifier: MIT
#include "value_convert.h"

#include <string>

#include "errors.h"
#include "model/value_tree.h"
#include "ref.h"

namespace tracker::python {
namespace {

using internal::Value;

std::string text_of(py::handle object) {
  std::string_view text;
  if (!utf8_of(object.ptr(), &text)) throw py::error_already_set();
  return std::string(text);
}

Value int_from(py::handle object) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  if (overflow == 0) return {static_cast<int64_t>(number)};
  const double rounded = PyLong_AsDouble(object.ptr());
  if (rounded != -1.0 || PyErr_Occurred() == nullptr) return {rounded};
  PyErr_Clear();
  return text_of(py::str(object));
}

}  // namespace

Value value_from(py::handle object, int depth) {
  if (depth > internal::kValueDepthMax) throw py::value_error("nested deeper than 64 levels");
  PyObject* raw = object.ptr();
  if (raw == Py_None) return {};
  if (PyBool_Check(raw)) return {raw == Py_True};
  if (PyLong_Check(raw)) return int_from(object);
  if (PyFloat_Check(raw)) return {PyFloat_AS_DOUBLE(raw)};
  if (PyUnicode_Check(raw)) return text_of(object);
  if (PyList_Check(raw) || PyTuple_Check(raw)) {
    Value::List list;
    for (const py::handle item : object) list.push_back(value_from(item, depth + 1));
    return list;
  }
  if (PyDict_Check(raw)) {
    Value::Map map;
    for (const auto& [key, item] : py::reinterpret_borrow<py::dict>(object)) {
      if (!PyUnicode_Check(key.ptr())) throw py::type_error("a key must be a str");
      map.emplace_back(text_of(key), value_from(item, depth + 1));
    }
    internal::drop_repeated_keys(&map);  // two keys of a subclass of str may have the same text
    return map;
  }
  throw py::type_error(std::string("expected None, bool, int, float, str, list or dict, got ") + Py_TYPE(raw)->tp_name);
}

py::object value_to_python(const Value& value) {
  if (const bool* v = value.as_bool()) return py::bool_(*v);
  if (const int64_t* v = value.as_int()) return py::int_(*v);
  if (const double* v = value.as_double()) return py::float_(*v);
  if (const std::string* v = value.as_text()) {
    PyObject* text = PyUnicode_DecodeUTF8(v->data(), static_cast<Py_ssize_t>(v->size()), "replace");
    if (text == nullptr) throw py::error_already_set();
    return py::reinterpret_steal<py::object>(text);
  }
  if (const Value::List* v = value.as_list()) {
    py::list list;
    for (const Value& item : *v) list.append(value_to_python(item));
    return list;
  }
  if (const Value::Map* v = value.as_map()) {
    py::dict map;
    for (const auto& [key, item] : *v) map[value_to_python(Value(key))] = value_to_python(item);
    return map;
  }
  return py::none();
}

void check(const internal::Status& status) {
  if (status.ok()) return;
  set_error(status);
  throw py::error_already_set();
}

}  // namespace tracker::python
