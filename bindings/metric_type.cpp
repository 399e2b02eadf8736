// SPDX-License-Identifier: MIT
// _core.Metric: a metric resolved once, with the shortest way to the ring.
#include "arguments.h"
#include "errors.h"
#include "number_from.h"
#include "run_object.h"

namespace tracker::python {
namespace {

using internal::ValuePair;

PyTypeObject* g_metric_type = nullptr;

__attribute__((noinline)) PyObject* metric_log(PyObject* object, PyObject* const* args, Py_ssize_t count,
                                               PyObject* keywords) {
  auto* self = reinterpret_cast<MetricObject*>(object);
  RunObject* run = self->run;
  Arguments call;
  if (!parse("log(value, step=None)", "value", args, count, keywords, &call)) return nullptr;
  int64_t step = 0;
  if (!read_step(run, &call, &step)) return nullptr;
  if (run->inert || call.first == Py_None) Py_RETURN_NONE;
  if (__builtin_expect(self->epoch != run->epoch, 0)) {
    self->ids = {};
    self->epoch = run->epoch;
  }
  Number number;
  if (number_from_builtin(call.first, &number) || number_from_numpy_scalar(call.first, &number)) {
    uint32_t& id = self->ids.of[static_cast<size_t>(number.type)];
    if (__builtin_expect(id == 0, 0)) {
      const int64_t resolved = run->keys->resolve(self->name, number.type, run->run);
      if (resolved < 0) return nullptr;
      if (resolved == 0) {
        if (no_series(run)) Py_RETURN_NONE;
        return nullptr;
      }
      id = static_cast<uint32_t>(resolved);
    }
    const ValuePair pair{number.bits, id, 0};
    if (call.step == nullptr) {
      const internal::ClaimedStep next = internal::claim_step(run->hot);
      const bool ok = record_pairs(run, &pair, 1, next.step);
      internal::return_unused_step(run->hot, next);
      if (!ok) return nullptr;
      Py_RETURN_NONE;
    }
    if (!record_pairs(run, &pair, 1, step)) return nullptr;
    Py_RETURN_NONE;
  }
  if (!log_one_general(run, self->name, call.first, call.step != nullptr ? &step : nullptr)) return nullptr;
  Py_RETURN_NONE;
}

PyObject* timed_log(PyObject* object, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  const TimedCall call;
  return call.end(reinterpret_cast<MetricObject*>(object)->run->hot, metric_log(object, args, count, keywords));
}

void metric_dealloc(PyObject* object) {
  auto* self = reinterpret_cast<MetricObject*>(object);
  PyTypeObject* type = Py_TYPE(object);
  Py_XDECREF(self->run);
  Py_XDECREF(self->name);
  type->tp_free(object);
  Py_DECREF(type);
}

PyObject* metric_repr(PyObject* object) {
  return PyUnicode_FromFormat("<tracker.Metric %R>", reinterpret_cast<MetricObject*>(object)->name);
}

PyObject* metric_run(PyObject* object, void*) {
  return Py_NewRef(reinterpret_cast<PyObject*>(reinterpret_cast<MetricObject*>(object)->run));
}

PyObject* metric_name(PyObject* object, void*) { return Py_NewRef(reinterpret_cast<MetricObject*>(object)->name); }

PyMethodDef g_metric_methods[] = {{"log", method(metric_log), METH_FASTCALL | METH_KEYWORDS,
                                   "log($self, /, value, step=None)\n--\n\n"
                                   "Logs one value; the rules are those of Run.log. Threads: any. Cost: less than "
                                   "Run.log by the look-up of the name."},
                                  {"__reduce_ex__", reduce_handle, METH_O, nullptr},
                                  {"__copy__", itself, METH_NOARGS, nullptr},
                                  {"__deepcopy__", itself, METH_O, nullptr},
                                  {nullptr, nullptr, 0, nullptr}};

PyGetSetDef g_metric_getters[] = {{"name", metric_name, nullptr, "The name of the metric.", nullptr},
                                  {"_run", metric_run, nullptr, "The run of the metric.", nullptr},
                                  {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot g_metric_slots[] = {{Py_tp_doc, const_cast<char*>("A metric resolved once; made by Run.metric().")},
                                {Py_tp_dealloc, reinterpret_cast<void*>(metric_dealloc)},
                                {Py_tp_repr, reinterpret_cast<void*>(metric_repr)},
                                {Py_tp_methods, g_metric_methods},
                                {Py_tp_getset, g_metric_getters},
                                {0, nullptr}};
PyType_Spec g_metric_spec = {"tracker._core.Metric", sizeof(MetricObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
                             g_metric_slots};
}  // namespace

PyObject* make_metric(PyObject* run, PyObject* name) {
  if (!PyUnicode_Check(name)) {
    PyErr_Format(PyExc_TypeError, "metric(name): name must be a str, got %.200s", Py_TYPE(name)->tp_name);
    return nullptr;
  }
  Ref exact(PyUnicode_FromObject(name));
  std::string_view text;
  if (!exact || !utf8_of(exact.get(), &text)) return nullptr;
  if (const internal::Status status = internal::check_key(text); !status.ok()) {
    set_error(status);
    return nullptr;
  }
  auto* metric = reinterpret_cast<MetricObject*>(g_metric_type->tp_alloc(g_metric_type, 0));
  if (metric == nullptr) return nullptr;
  metric->run = reinterpret_cast<RunObject*>(Py_NewRef(run));
  metric->name = exact.release();
  metric->epoch = metric->run->epoch;
  metric->ids = {};
  return reinterpret_cast<PyObject*>(metric);
}

void time_metric_calls(bool on) { g_metric_methods[0].ml_meth = on ? method(timed_log) : method(metric_log); }

bool add_metric_type(PyObject* module) {
  g_metric_type = add_type(module, "Metric", &g_metric_spec);
  return g_metric_type != nullptr;
}

}  // namespace tracker::python
