// SPDX-License-Identifier: MIT
#include "device_values.h"

namespace tracker::python {
namespace {

using internal::ValueType;

bool append(const Ref& list, PyObject* item) { return PyList_Append(list.get(), item) == 0; }

}  // namespace

bool DeviceValues::add(PyObject* key, PyObject* value, ValueType type) {
  if (!keys_) {
    Ref keys(PyList_New(0));
    values_ = Ref(PyList_New(0));
    types_ = Ref(PyList_New(0));
    if (!keys || !values_ || !types_) return false;
    keys_ = std::move(keys);
  }
  const Ref number(PyLong_FromLong(static_cast<long>(type)));
  return number && append(keys_, key) && append(values_, value) && append(types_, number.get());
}

Ref DeviceValues::log(PyObject* run, int64_t step) const {
  const Ref module(PyImport_ImportModule("tracker._device"));
  if (!module) return {};
  const Ref at(PyLong_FromLongLong(step));
  const Ref function(PyObject_GetAttrString(module.get(), "log"));
  if (!at || !function) return {};
  return Ref(
      PyObject_CallFunctionObjArgs(function.get(), run, keys_.get(), values_.get(), types_.get(), at.get(), nullptr));
}

void DeviceValues::drop(internal::Run* run) const {
  for (Py_ssize_t i = 0; keys_ && i < PyList_GET_SIZE(keys_.get()) && i < PyList_GET_SIZE(types_.get()); ++i) {
    std::string_view key;
    const auto type = static_cast<ValueType>(PyLong_AsLong(PyList_GET_ITEM(types_.get(), i)));
    if (utf8_of(PyList_GET_ITEM(keys_.get(), i), &key))
      run->drop_values(key, type, 1, "the call that logged them was ended by an error");
  }
}

}  // namespace tracker::python
