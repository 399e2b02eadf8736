// SPDX-License-Identifier: MIT
#include "errors.h"

#include <string>

#include "model/visible.h"
#include "ref.h"

namespace tracker::python {
namespace {

using internal::Code;

PyObject* g_tracker_error = nullptr;
PyObject* g_not_found = nullptr;
PyObject* g_store = nullptr;
PyObject* g_corrupt = nullptr;
PyObject* g_limit = nullptr;
PyObject* g_closed = nullptr;

bool add_class(PyObject* module, const char* name, const char* doc, PyObject* second_base, PyObject** out) {
  Ref bases;
  if (g_tracker_error == nullptr) {
    bases = Ref::borrow(PyExc_Exception);
  } else if (second_base == nullptr) {
    bases = Ref::borrow(g_tracker_error);
  } else {
    bases = Ref(PyTuple_Pack(2, g_tracker_error, second_base));
  }
  if (!bases) return false;
  const std::string full = std::string("tracker.") + name;
  *out = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.get(), nullptr);
  return *out != nullptr && PyModule_AddObjectRef(module, name, *out) == 0;
}

}  // namespace

bool add_errors(PyObject* module) {
  return add_class(module, "TrackerError", "What tracker raises, beside TypeError and ValueError for misuse.", nullptr,
                   &g_tracker_error) &&
         add_class(module, "NotFoundError", "There is no such run, store or metric.", PyExc_LookupError,
                   &g_not_found) &&
         add_class(module, "StoreError", "The disk or the database answered with an error.", PyExc_OSError, &g_store) &&
         add_class(module, "CorruptError", "Bytes are not what their format says, or of a newer version.", nullptr,
                   &g_corrupt) &&
         add_class(module, "LimitError", "A documented limit was reached; the point was dropped and counted.", nullptr,
                   &g_limit) &&
         add_class(module, "ClosedError", "The run has ended.", nullptr, &g_closed);
}

PyObject* error_class(Code code) {
  switch (code) {
    case Code::kInvalid: return PyExc_ValueError;
    case Code::kUnsupported: return PyExc_NotImplementedError;
    case Code::kNotFound: return g_not_found;
    case Code::kIo:
    case Code::kBusy:
    case Code::kTimeout:
    case Code::kExists: return g_store;
    case Code::kCorrupt:
    case Code::kVersion: return g_corrupt;
    case Code::kLimit: return g_limit;
    case Code::kClosed: return g_closed;
    case Code::kOk: break;
  }
  return g_tracker_error;
}

void set_error(const internal::Status& status) {
  // Visible text is UTF-8 whatever a name or a path holds: anything else would raise UnicodeDecodeError instead.
  PyErr_SetString(error_class(status.code()), internal::visible_lines(status.to_string()).c_str());
}

std::string take_error_text() {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const Ref owned_type(type), owned_value(value), owned_trace(trace);
  std::string text = type != nullptr ? reinterpret_cast<PyTypeObject*>(type)->tp_name : "error";
  const Ref shown(value != nullptr ? PyObject_Str(value) : nullptr);
  std::string_view message;
  if (shown && utf8_of(shown.get(), &message) && !message.empty()) text.append(": ").append(message.substr(0, 300));
  PyErr_Clear();
  return text;
}

}  // namespace tracker::python
