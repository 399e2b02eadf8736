// SPDX-License-Identifier: MIT
// Ref: one owned reference to a Python object, for code that uses the plain C API and must not throw. Threads: with the
// GIL held.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>
#include <utility>

namespace tracker::python {

class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) : object_(owned) {}
  static Ref borrow(PyObject* object) { return Ref(Py_XNewRef(object)); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

// The UTF-8 of a str, valid as long as the str; false with a Python error for a lone surrogate.
inline bool utf8_of(PyObject* text, std::string_view* out) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) return false;
  *out = {data, static_cast<size_t>(size)};
  return true;
}

// Returns the pending exception as one line "ValueError: text" and clears it. Never fails.
std::string take_error_text();
// Whether the pending exception must reach the caller of log(): KeyboardInterrupt and others that are not an Exception.
inline bool must_propagate() { return PyErr_Occurred() != nullptr && !PyErr_ExceptionMatches(PyExc_Exception); }

}  // namespace tracker::python
