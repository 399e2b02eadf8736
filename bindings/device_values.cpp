// SPDX-License-Identifier: MIT
#include "device_values.h"

namespace tracker::python {
namespace {

using internal::ValueType;

bool append(const Ref& list, PyObject* item) { return PyList_Append(list.get(), item) == 0; }

// Does nothing for a key that is None: it was handled.
void drop_at(internal::Run* run, PyObject* keys, PyObject* types, Py_ssize_t at, std::string_view why) {
  PyObject* key = PyList_GET_ITEM(keys, at);
  std::string_view name;
  if (key == Py_None || !utf8_of(key, &name)) return;
  run->drop_values(name, static_cast<ValueType>(PyLong_AsLong(PyList_GET_ITEM(types, at))), 1, why);
}

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
  const Ref module(PyImport_ImportModule("tracker._recording.device_values"));
  if (!module) return {};
  const Ref at(PyLong_FromLongLong(step));
  const Ref function(PyObject_GetAttrString(module.get(), "log"));
  if (!at || !function) return {};
  return Ref(
      PyObject_CallFunctionObjArgs(function.get(), run, keys_.get(), values_.get(), types_.get(), at.get(), nullptr));
}

void DeviceValues::drop(internal::Run* run) const {
  for (Py_ssize_t i = 0; keys_ && i < PyList_GET_SIZE(keys_.get()) && i < PyList_GET_SIZE(types_.get()); ++i)
    drop_at(run, keys_.get(), types_.get(), i, "the call that logged them was ended by an error");
}

void DeviceValues::say_forked(internal::Run* run) const {
  std::string_view key;
  if (utf8_of(PyList_GET_ITEM(keys_.get(), 0), &key)) (void)run->series_id(key, ValueType::kFloat64);
}

void hand_over_device_values(const pybind11::object& queue, const pybind11::object& copy, const pybind11::list& keys,
                             const pybind11::list& places) {
  queue.attr("append")(copy);
  for (const pybind11::handle place : places) keys[place.cast<size_t>()] = pybind11::none();
}

void drop_device_values(internal::Run& run, const pybind11::list& keys, const pybind11::list& types,
                        const pybind11::list& places, const std::string& why) {
  for (const pybind11::handle place : places) {
    const auto at = place.cast<Py_ssize_t>();
    if (at < 0 || at >= PyList_GET_SIZE(keys.ptr()) || at >= PyList_GET_SIZE(types.ptr())) continue;
    drop_at(&run, keys.ptr(), types.ptr(), at, why);
    keys[static_cast<size_t>(at)] = pybind11::none();
  }
}

}  // namespace tracker::python
