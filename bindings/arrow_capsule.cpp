// SPDX-License-Identifier: MIT
#include "arrow_capsule.h"

#include "released_gil.h"

namespace tracker::python {
namespace py = pybind11;
namespace {

template <typename T>
constexpr const char* kCapsuleName = nullptr;
template <>
constexpr const char* kCapsuleName<ArrowSchema> = "arrow_schema";
template <>
constexpr const char* kCapsuleName<ArrowArray> = "arrow_array";
template <>
constexpr const char* kCapsuleName<ArrowArrayStream> = "arrow_array_stream";

template <typename T>
void drop(PyObject* capsule) {
  auto* held = static_cast<T*>(PyCapsule_GetPointer(capsule, kCapsuleName<T>));
  if (held == nullptr) return PyErr_WriteUnraisable(capsule);
  if (held->release != nullptr) held->release(held);  // no consumer moved it out
  delete held;
}

// `fill` throws or fills.
template <typename T, typename F>
py::object capsule_of(F&& fill) {
  auto held = std::make_unique<T>();
  fill(held.get());
  PyObject* capsule = PyCapsule_New(held.get(), kCapsuleName<T>, &drop<T>);
  if (capsule == nullptr) {
    held->release(held.get());
    throw py::error_already_set();
  }
  (void)held.release();
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

py::object schema_capsule(const internal::ArrowTable& table) {
  return capsule_of<ArrowSchema>([&](ArrowSchema* out) { internal::export_schema(table, out); });
}

py::object array_capsule(const std::shared_ptr<const internal::ArrowTable>& table) {
  return capsule_of<ArrowArray>([&](ArrowArray* out) {
    const ReleasedGil without_gil;
    internal::export_array(table, 0, table->rows(), out);
  });
}

py::object stream_capsule(const std::shared_ptr<const internal::ArrowTable>& table) {
  return capsule_of<ArrowArrayStream>([&](ArrowArrayStream* out) { internal::export_stream(table, out); });
}

}  // namespace tracker::python
