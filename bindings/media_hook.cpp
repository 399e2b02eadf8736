// SPDX-License-Identifier: MIT
#include "media_hook.h"

#include <algorithm>
#include <string_view>

#include "number_from.h"

namespace tracker::python {
namespace {

constexpr Py_ssize_t kItemsLookedAt = 1000;  // of a list, for the first medium

PyObject* g_class = nullptr;
PyObject* g_log = nullptr;
PyObject* g_coerce = nullptr;

// Whether the class of `value` is from a known module, by the first part of the module's name.
bool is_of_known_library(PyObject* value) {
  const Ref module(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(value)), "__module__"));
  std::string_view name;
  if (!module || !PyUnicode_Check(module.get()) || !utf8_of(module.get(), &name)) {
    PyErr_Clear();
    return false;
  }
  const std::string_view first = name.substr(0, name.find('.'));
  return first == "matplotlib" || first == "plotly" || first == "PIL";
}

}  // namespace

PyObject* set_media_hook(PyObject*, PyObject* args) {
  PyObject *type = nullptr, *log = nullptr, *coerce = nullptr;
  if (!PyArg_ParseTuple(args, "OOO", &type, &log, &coerce)) return nullptr;
  Py_XSETREF(g_class, Py_NewRef(type));
  Py_XSETREF(g_log, Py_NewRef(log));
  Py_XSETREF(g_coerce, Py_NewRef(coerce));
  Py_RETURN_NONE;
}

bool is_media(PyObject* value) {
  if (g_class == nullptr) return false;
  auto* type = reinterpret_cast<PyTypeObject*>(g_class);
  if (PyObject_TypeCheck(value, type)) return true;
  if (!PyList_Check(value) && !PyTuple_Check(value)) return false;
  const Py_ssize_t looked_at = std::min<Py_ssize_t>(PySequence_Fast_GET_SIZE(value), kItemsLookedAt);
  for (Py_ssize_t i = 0; i < looked_at; ++i)
    if (PyObject_TypeCheck(PySequence_Fast_GET_ITEM(value, i), type)) return true;
  return false;
}

Ref media_from(PyObject* value) {
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  const bool is_known =
      is_list ? PySequence_Fast_GET_SIZE(value) > 0 && is_of_known_library(PySequence_Fast_GET_ITEM(value, 0))
              : is_of_known_library(value);
  if (!is_known) return {};
  if (g_coerce == nullptr && !Ref(PyImport_ImportModule("tracker._media"))) return {};
  if (g_coerce == nullptr) return {};
  if (is_list) return Ref::borrow(value);  // tracker/_media/log_media.py takes them one by one
  Ref found(PyObject_CallOneArg(g_coerce, value));
  return found.get() == Py_None ? Ref() : std::move(found);
}

std::string hint_for(PyObject* value) {
  const Ref module(PyImport_ImportModule("tracker._refused_value_hint"));
  const Ref function(module ? PyObject_GetAttrString(module.get(), "hint") : nullptr);
  const Ref text(function ? PyObject_CallOneArg(function.get(), value) : nullptr);
  std::string_view view;
  if (text && PyUnicode_Check(text.get()) && utf8_of(text.get(), &view)) return std::string(view);
  if (!must_propagate()) PyErr_Clear();
  return "";
}

Ref log_media(PyObject* run, PyObject* key, PyObject* value, PyObject* step) {
  return Ref(PyObject_CallFunctionObjArgs(g_log, run, key, value, step, nullptr));
}

}  // namespace tracker::python
