// SPDX-License-Identifier: MIT
// The hot calls. Everything that runs no Python code is here; the rest of log() is in log_general.cpp.
#include "run_object.h"

#include <memory>

#include "arguments.h"
#include "errors.h"
#include "handle.h"
#include "journal/ring/open_record.h"
#include "number_from.h"
#include "released_gil.h"
#include "signals.h"

namespace tracker::python {

PyObject* g_step = nullptr;

namespace {

using internal::Code;
using internal::Run;
using internal::ValuePair;
using internal::ValueType;

PyTypeObject* g_run_type = nullptr;

// --- log() ---------------------------------------------------------------------------------------------------------

// A call with fewer keys gains nothing from being written in place.
constexpr Py_ssize_t kInPlaceKeysMin = 8;

enum class Converted { kAll, kNeedsGeneral, kRaised };

// The pairs of a dict of builtin numbers and None under known or valid str keys. Runs no Python code.
Converted convert_builtin(RunObject* self, PyObject* dict, ValuePair* pairs, size_t* count, bool* limit) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  size_t n = 0;
  bool others = false;
  KeyTable& keys = *self->keys;
  KeyTable::Walk walk(&keys);
  // Counted, to save the call of PyDict_Next that finds the end. Nothing here can change the dict.
  for (Py_ssize_t left = PyDict_GET_SIZE(dict); left > 0 && PyDict_Next(dict, &position, &key, &value); --left) {
    Number number;
    uint32_t id = 0;
    if (PyFloat_CheckExact(value)) {
      number.bits = internal::bits_of(PyFloat_AS_DOUBLE(value));
      id = keys.float64_id(walk.next(key));
    } else if (number_from_builtin(value, &number)) {
      id = keys.id_of(walk.next(key), number.type);
    } else if (number_from_numpy_scalar(value, &number)) {
      others = true;
      id = keys.id_of(walk.next(key), number.type);
    } else if (value == Py_None) {
      continue;
    } else {
      return Converted::kNeedsGeneral;
    }
    if (__builtin_expect(id == 0, 0)) {
      if (keys.find(key) == nullptr && (!PyUnicode_CheckExact(key) || !keys.knows(key)))
        return Converted::kNeedsGeneral;
      const int64_t resolved = keys.resolve(key, number.type, self->run);
      if (resolved < 0) return Converted::kRaised;
      if (resolved == 0) {  // counted by the run
        *limit = true;
        continue;
      }
      id = static_cast<uint32_t>(resolved);
      walk.next(key);
    }
    pairs[n++] = {number.bits, id, 0};
  }
  *count = n;
  if (PyDict_GET_SIZE(dict) >= kInPlaceKeysMin) self->other_values = others;
  return Converted::kAll;
}

// With so many keys the conversion is timed in each call that is not written in place: a timestamp is cheap compared to
// it, and calls with very many keys are never written in place.
constexpr size_t kTimedKeysMin = 256;

// The usual call of many keys, floats and ints under keys with known ids, straight into the ring: this allocates
// nothing and runs no other code (open_record.h). Returns false if there are other values, or the call needs the slow
// path; nothing was logged then.
bool log_in_place(RunObject* self, PyObject* dict, int64_t step) {
  internal::OpenRecord record;
  if (!record.begin(self->hot, static_cast<size_t>(PyDict_GET_SIZE(dict)), step)) return false;
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  KeyTable& keys = *self->keys;
  KeyTable::Walk walk(&keys);
  for (Py_ssize_t left = PyDict_GET_SIZE(dict); left > 0 && PyDict_Next(dict, &position, &key, &value); --left) {
    Number number;
    uint32_t id = 0;
    if (PyFloat_CheckExact(value)) {
      number.bits = internal::bits_of(PyFloat_AS_DOUBLE(value));
      id = keys.float64_id(walk.next(key));
    } else if (number_from_builtin(value, &number)) {
      id = keys.id_of(walk.next(key), number.type);
    } else if (value == Py_None) {
      continue;
    } else {
      self->other_values = true;
    }
    if (__builtin_expect(id == 0, 0)) {
      record.leave();
      return false;
    }
    record.add(number.bits, id);
  }
  record.publish();
  return true;
}

// Returns true if it is done, or an error is set (*ok false). False: log_general() has to do it.
__attribute__((noinline)) bool log_builtin(RunObject* self, PyObject* data, int64_t step, bool* ok) {
  const auto size = static_cast<size_t>(PyDict_GET_SIZE(data));
  if (PyDict_GET_SIZE(data) >= kInPlaceKeysMin && !self->other_values && log_in_place(self, data, step)) return true;
  ValuePair stack[kStackPairs];
  ValuePair* pairs = stack;
  size_t capacity = kStackPairs, count = 0;
  if (size > kStackPairs && (pairs = borrow_pairs(self, size, &capacity)) == nullptr) {
    *ok = false;
    return true;
  }
  bool limit = false;
  const uint64_t begin = size >= kTimedKeysMin ? internal::ticks() : 0;
  const Converted converted = convert_builtin(self, data, pairs, &count, &limit);
  const uint64_t took = size >= kTimedKeysMin ? internal::ticks() - begin : 0;
  *ok = converted != Converted::kRaised;
  if (converted == Converted::kAll && count > 0) {
    const bool done = count == 1 ? internal::try_log_pairs(self->hot, pairs, 1, step)
                                 : internal::try_log_pairs(self->hot, pairs, count, step);
    *ok = __builtin_expect(done, 1) || record_pairs_slow(self, pairs, count, step, took);
  }
  if (pairs != stack) return_pairs(self, pairs, capacity);
  if (converted == Converted::kAll && *ok) *ok = !limit || no_series(self);
  return converted != Converted::kNeedsGeneral;
}

// The same without a step.
__attribute__((noinline)) bool log_builtin_at_next(RunObject* self, PyObject* data, bool* ok) {
  const internal::ClaimedStep next = internal::claim_step(self->hot);
  const bool done = log_builtin(self, data, next.step, ok);
  internal::return_unused_step(self->hot, next);
  return done;
}

// The most frequent call, {"loss": x} with a known key, a float and a step, without the loop and the buffer of many
// pairs: 165 instructions instead of 259. Returns false if nothing was done.
__attribute__((always_inline)) inline bool log_one_float(RunObject* self, PyObject* data, int64_t step) {
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  if (PyDict_GET_SIZE(data) != 1 || !PyDict_Next(data, &position, &key, &value) || !PyFloat_CheckExact(value))
    return false;
  const KeyTable::Slot* slot = self->keys->find(key);
  if (slot == nullptr || slot->float64 == 0) return false;
  const ValuePair pair{internal::bits_of(PyFloat_AS_DOUBLE(value)), slot->float64, 0};
  return internal::try_log_pairs(self->hot, &pair, 1, step);
}

bool is_mapping(PyObject* object) {
  return PyDict_Check(object) || (PyMapping_Check(object) && PyObject_HasAttrString(object, "keys"));
}

// Returns false with TypeError set if log() was given neither a dict nor a mapping.
bool is_mapping_or_raise(const Arguments& call) {
  if (is_mapping(call.first)) return true;
  if (PyUnicode_Check(call.first)) {
    PyErr_Format(PyExc_TypeError, "log(data, step=None): data must be a dict, as in log({%R: value}); got a str",
                 call.first);
  } else {
    PyErr_Format(PyExc_TypeError, "log(data, step=None): data must be a dict of names to values, got %.200s",
                 Py_TYPE(call.first)->tp_name);
  }
  return false;
}

__attribute__((noinline)) PyObject* run_log(PyObject* object, PyObject* const* args, Py_ssize_t count,
                                            PyObject* keywords) {
  auto* self = reinterpret_cast<RunObject*>(object);
  Arguments call;
  if (!parse("log(data, step=None)", "data", args, count, keywords, &call)) return nullptr;
  int64_t step = 0;
  const bool usual = call.step == nullptr || small_step(call.step, &step);
  if (!usual && (!is_mapping_or_raise(call) || !step_from(self, &call, &step))) return nullptr;
  bool ok = true;
  if (PyDict_CheckExact(call.first)) {
    if (call.step != nullptr && !self->inert && log_one_float(self, call.first, step)) Py_RETURN_NONE;
    if (self->inert || (__builtin_expect(call.step != nullptr, 1) ? log_builtin(self, call.first, step, &ok)
                                                                  : log_builtin_at_next(self, call.first, &ok))) {
      if (ok) Py_RETURN_NONE;
      return nullptr;
    }
  } else if (!is_mapping_or_raise(call)) {
    return nullptr;
  }
  if (!self->inert && !log_general(self, call.first, call.step != nullptr ? &step : nullptr)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* timed_log(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const TimedCall call;
  return call.end(reinterpret_cast<RunObject*>(object)->hot, run_log(object, args, count, keywords));
}

// --- life ----------------------------------------------------------------------------------------------------------

PyObject* run_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  PyObject* core = nullptr;
  if ((keywords != nullptr && PyDict_GET_SIZE(keywords) != 0) || !PyArg_ParseTuple(args, "O", &core)) {
    PyErr_SetString(PyExc_TypeError, "a Run is made by tracker.init()");
    return nullptr;
  }
  Run* run = run_of_core(core);
  if (run == nullptr) return nullptr;
  auto* self = reinterpret_cast<RunObject*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->core = Py_NewRef(core);
  self->run = run;
  self->hot = run->hot();
  self->inert = !run->recording();
  self->strict = run->strict();
  self->hot->caller_samples = 1;
  self->keys = new (std::nothrow) KeyTable;
  if (self->keys == nullptr) {
    Py_DECREF(self);
    return PyErr_NoMemory();
  }
  return reinterpret_cast<PyObject*>(self);
}

void run_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<RunObject*>(object);
  PyTypeObject* type = Py_TYPE(object);
  delete self->keys;
  PyMem_RawFree(self->spare);
  // A run that has not ended is left to the exit handler, which knows the exit code: garbage collection ends no run.
  if (self->core != nullptr && (self->inert || self->run->finished())) Py_DECREF(self->core);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* run_values_rounded(PyObject* object, void*) {
  return PyLong_FromUnsignedLongLong(reinterpret_cast<RunObject*>(object)->values_rounded);
}

PyObject* run_core(PyObject* object, void*) { return Py_NewRef(reinterpret_cast<RunObject*>(object)->core); }

// attach() of the core; also forgets this object's ids of series.
PyObject* run_attach(PyObject* object, PyObject*) {
  auto* self = reinterpret_cast<RunObject*>(object);
  const internal::Status status = [&] {
    const ReleasedGil without_gil;
    return self->run->attach();
  }();
  if (!status.ok()) {
    set_error(status);
    return nullptr;
  }
  self->hot->caller_samples = 1;
  self->keys->forget_ids();
  ++self->epoch;
  Py_RETURN_NONE;
}

PyObject* empty_log(PyObject*, PyObject* const*, Py_ssize_t, PyObject*) { Py_RETURN_NONE; }

PyMethodDef g_run_methods[] = {
    {"log", method(run_log), METH_FASTCALL | METH_KEYWORDS,
     "log($self, /, data, step=None)\n--\n\n"
     "Logs a dict of names to values under one step and one time.\n\n"
     "Nested dicts flatten with \"/\"; a key that is a number is its text; None is no value; step=None is 1 + the "
     "run's largest step. bool, int, float, "
     "one-element\n"
     "NumPy values and tensors keep their dtype; str is stored as text; whatever has __float__ or __index__ is "
     "converted. A bad\n"
     "value or key is counted and named once on stderr, the others are kept; with strict=True it is then raised.\n"
     "A step may be any number whose value is whole; another is its floor, and one that int64 does not have (NaN too)\n"
     "is none; both are counted (status().steps_changed) and reported once, with strict=True raised.\n"
     "Raises TypeError when data is no mapping or step no number.\n"
     "Threads: any. Cost: about a call of an empty function; waits only while the ring is full, and with\n"
     "on_full=\"block\" until there is room: Ctrl-C, and what any signal's handler raises, ends that wait within 0.1\n"
     "s; what the call could not log is then dropped and counted."},
    {"metric", make_metric, METH_O,
     "metric($self, name, /)\n--\n\n"
     "A handle whose log(value, step) skips the look-up of the name. Lives as long as it is used; threads may share "
     "it.\n"
     "Raises TypeError when name is no str, ValueError when it is no valid key."},
    {"_attach", run_attach, METH_NOARGS, "In a forked child: this run records here from now on."},
    {"__reduce_ex__", reduce_handle, METH_O, nullptr},
    {"__copy__", itself, METH_NOARGS, nullptr},
    {"__deepcopy__", itself, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef g_run_getters[] = {
    {"_core", run_core, nullptr, "The other verbs of the run.", nullptr},
    {"_values_rounded", run_values_rounded, nullptr, "Ints beyond int64 logged so far.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMethodDef g_empty_methods[] = {{"log", method(empty_log), METH_FASTCALL | METH_KEYWORDS, "Does nothing."},
                                 {nullptr, nullptr, 0, nullptr}};

PyType_Slot g_run_slots[] = {{Py_tp_doc, const_cast<char*>("What tracker.Run adds its slower verbs to.")},
                             {Py_tp_new, reinterpret_cast<void*>(run_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(run_dealloc)},
                             {Py_tp_methods, g_run_methods},
                             {Py_tp_getset, g_run_getters},
                             {0, nullptr}};
PyType_Slot g_empty_slots[] = {
    {Py_tp_doc, const_cast<char*>("The yardstick of benchmarks/: a log() that does nothing.")},
    {Py_tp_methods, g_empty_methods},
    {0, nullptr}};

PyType_Spec g_run_spec = {"tracker._core.Run", sizeof(RunObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                          g_run_slots};
PyType_Spec g_empty_spec = {"tracker._core._Empty", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                            g_empty_slots};

// The ring of the call that is being timed, of any run. With the GIL.
internal::CallSample g_sample;

void time_calls(bool on) {
  g_run_methods[0].ml_meth = on ? method(timed_log) : method(run_log);
  time_metric_calls(on);
}

}  // namespace

TimedCall::TimedCall() : begin_(internal::ticks()), sample_(g_sample) { time_calls(false); }

PyObject* TimedCall::end(internal::HotRun* hot, PyObject* out) const {
  const uint64_t took = internal::ticks() - begin_;
  if (out != nullptr) internal::add_sample(hot, sample_, took);
  return out;
}

PyObject* itself(PyObject* self, PyObject*) { return Py_NewRef(self); }

PyObject* reduce_handle(PyObject* self, PyObject*) {
  const Ref module(PyImport_ImportModule("tracker._recording.pickled_handles"));
  if (!module) return nullptr;
  return PyObject_CallMethod(module.get(), "reduce", "O", self);
}

bool no_series(RunObject* self) {
  if (!self->strict) return true;
  if (ended_here(self)) {
    PyErr_SetString(error_class(Code::kClosed), "log: the run has ended; the value was dropped");
    return false;
  }
  if (!self->run->recording()) return true;
  PyErr_SetString(error_class(Code::kLimit), "log: the limit of series is reached; the value was dropped and counted");
  return false;
}

bool record_pairs_slow(RunObject* self, const ValuePair* pairs, size_t count, int64_t step, uint64_t before) {
  Code code = Code::kOk;
  // A full ring waits up to 10 ms, or as long as it takes; a ring that only wrapped around does not wait, and its 25 ns
  // for the GIL are paid once a lap.
  if (!without_gil_but_signals([&] { code = internal::log_pairs_slow(self->hot, pairs, count, step, true, before); }))
    return false;
  if (internal::wants_sample(self->hot, &g_sample)) time_calls(true);
  if (code == Code::kOk || !self->strict) return true;
  if (code == Code::kClosed && !ended_here(self)) return true;  // gated or forked: never an error
  PyErr_SetString(error_class(code), code == Code::kClosed ? "log: the run has ended; the point was dropped and counted"
                                     : self->run->disk_full()
                                         ? "log: the store has reached max_disk; the point was dropped and counted"
                                         : "log: the ring is full; the point was dropped and counted");
  return false;
}

RunObject* run_object_of(PyObject* object) {
  if (PyObject_TypeCheck(object, g_run_type)) return reinterpret_cast<RunObject*>(object);
  PyErr_Format(PyExc_TypeError, "expected a Run, got %.200s", Py_TYPE(object)->tp_name);
  return nullptr;
}

PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  if (type == nullptr || PyModule_AddObjectRef(module, name, type) < 0) return nullptr;
  return reinterpret_cast<PyTypeObject*>(type);
}

bool add_run_types(PyObject* module) {
  g_step = PyUnicode_InternFromString("step");
  g_run_type = add_type(module, "Run", &g_run_spec);
  return g_step != nullptr && g_run_type != nullptr && add_metric_type(module) &&
         add_type(module, "_Empty", &g_empty_spec) != nullptr;
}

}  // namespace tracker::python
