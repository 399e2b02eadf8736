// SPDX-License-Identifier: MIT
// _core.Run, the base class of tracker.Run, and _core.Metric: heap types on the plain C API, because a call through
// pybind11's dispatcher costs at least 120 ns, one through METH_FASTCALL 15. Threads: with the GIL held.
#pragma once

#include <Python.h>

#include <string>
#include <string_view>

#include "journal/ring/hot_path.h"
#include "key_table.h"
#include "ref.h"
#include "run/run.h"

namespace tracker::python {

struct RunObject {
  PyObject_HEAD internal::HotRun* hot;
  internal::Run* run;  // owned by `core`
  bool inert;          // never records anything: disabled or gated by its rank
  bool strict;
  bool other_values;        // the last call of many keys had values that cannot be logged in place
  uint32_t epoch;           // increased by each attach(): ids in handles are then those of another process
  uint64_t values_rounded;  // ints beyond int64 stored as float64
  KeyTable* keys;
  internal::ValuePair* spare;  // a buffer for calls of many keys; null while such a call is running
  size_t spare_count;
  PyObject* core;  // the _core.RunCore
};

struct MetricObject {
  PyObject_HEAD RunObject* run;  // owned
  PyObject* name;                // an exact str
  uint32_t epoch;                // of the run when `ids` were requested
  MetricIds ids;
};

// The first bad value or key of a call, for strict runs.
struct Problem {
  PyObject* type = nullptr;  // PyExc_TypeError or PyExc_ValueError, or a class of errors.h
  std::string text;
  size_t more = 0;
};

// Creates the types and adds them to `module`. Returns false with a Python error set.
bool add_run_types(PyObject* module);
bool add_metric_type(PyObject* module);
PyTypeObject* add_type(PyObject* module, const char* name, PyType_Spec* spec);
// A _core.Metric; null with TypeError or ValueError set.
PyObject* make_metric(PyObject* run, PyObject* name);
// __copy__ and __deepcopy__ of both types: a copy of a handle is the handle.
PyObject* itself(PyObject* self, PyObject*);
// __reduce_ex__ of both types (tracker/_recording/pickled_handles.py).
PyObject* reduce_handle(PyObject* self, PyObject* protocol);

// The Run inside a _core.Run; null with TypeError set for any other object.
RunObject* run_object_of(PyObject* object);

// Writes the pairs as one record, without the GIL if it has to wait. Returns false with a Python error set (strict
// only). `before`: ticks of the conversion of such a call, for the account of the tracker's cost.
bool record_pairs_slow(RunObject* self, const internal::ValuePair* pairs, size_t count, int64_t step,
                       uint64_t before = 0);
inline bool record_pairs(RunObject* self, const internal::ValuePair* pairs, size_t count, int64_t step) {
  // With a constant count the compiler removes the loop and one check: 1 ns of 20.
  const bool done = count == 1 ? internal::try_log_pairs(self->hot, pairs, 1, step)
                               : internal::try_log_pairs(self->hot, pairs, count, step);
  return __builtin_expect(done, 1) || record_pairs_slow(self, pairs, count, step);
}
// The run has ended in this process. A forked child's copy has not: it is inert, which is not an error, strict or not.
inline bool ended_here(const RunObject* self) { return self->hot->alive != 0 && self->run->finished(); }
// One whole call of Run.log or Metric.log, timed for the account of the tracker's cost when the ring has requested it:
// for that call only, the type's method is another function, so that the usual one has no cost from timing.
class TimedCall {
 public:
  TimedCall();
  PyObject* end(internal::HotRun* hot, PyObject* out) const;  // returns `out`

 private:
  uint64_t begin_;
  internal::CallSample sample_;
};
void time_metric_calls(bool on);
// The run gave no id: its limit, or it has ended. A strict run raises. Returns false with the error set.
bool no_series(RunObject* self);
// log() for values other than builtin numbers under str keys of one dict. `step` null: the next one. Returns false with
// the error set.
bool log_general(RunObject* self, PyObject* data, const int64_t* step);
// One value of any kind under an exact str key. Returns false with the error set.
bool log_one_general(RunObject* self, PyObject* key, PyObject* value, const int64_t* step);
// Counts a value or key that cannot be stored; `problem` keeps the first one of a call.
void reject_value(RunObject* self, std::string_view key, std::string_view why, PyObject* type, Problem* problem);
// A strict run raises `problem`. Returns false with the error set.
bool raise_if_strict(RunObject* self, const Problem& problem);

// A buffer for `count` pairs: the run's spare one or a new one; null with MemoryError set. give_back() keeps the
// larger.
internal::ValuePair* borrow_pairs(RunObject* self, size_t count, size_t* capacity);
void return_pairs(RunObject* self, internal::ValuePair* pairs, size_t capacity);

// A vectorcall function for a PyMethodDef.
template <typename F>
PyCFunction method(F function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr size_t kStackPairs = 64;

}  // namespace tracker::python
