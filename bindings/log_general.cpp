// SPDX-License-Identifier: MIT
// log() for everything that may run Python code: NumPy values, tensors, nested dicts, texts, foreign types, bad values.
//
// All values are converted before the record is started, into buffers of this call: a __float__ may call log() again,
// or change the dict that is being read, so keys and values are owned while they are read.
#include <new>
#include <string>
#include <vector>

#include "device_values.h"
#include "errors.h"
#include "media_hook.h"
#include "number_from.h"
#include "run_object.h"
#include "signals.h"

namespace tracker::python {
namespace {

using internal::Code;
using internal::ValuePair;

// Limit: nesting of a dict in run.log. Beyond it: the value is counted as rejected.
constexpr size_t kDepthMax = 32;

struct TextValue {
  std::string key;
  Ref text;
};

struct MediaValue {
  Ref key, value;
};

// A value being collected: its path if it is in a nested dict, else only its key object.
struct Place {
  PyObject* key;          // exact str, owned by the caller
  std::string_view name;  // its UTF-8
};

class Collector {
 public:
  explicit Collector(RunObject* run) : run_(run) {}

  // Returns false if an exception is set that must reach the caller.
  bool add_mapping(PyObject* mapping, const std::string& prefix, Ref items = {});
  bool add_value(PyObject* key, PyObject* value);
  // Writes what was collected. Returns false with an error set.
  bool write(const int64_t* step);

 private:
  bool add_items(PyObject* items, const std::string& prefix);
  bool add_item(PyObject* key, PyObject* value, const std::string& prefix);
  bool add_nested(PyObject* mapping, std::string_view path, Ref items = {});
  bool add_at(const Place& place, PyObject* value);
  bool add_number(const Place& place, const Number& number);
  bool write_texts(int64_t step);
  bool write_media(int64_t step);
  bool write_device_values(int64_t step);
  bool drop_rest(size_t texts_written, int64_t step, size_t media_written = 0);
  void drop_media(size_t written, int64_t step);
  bool add_foreign(const Place& place, PyObject* value, std::string why);
  void reject(std::string_view key, std::string_view why, PyObject* type) {
    reject_value(run_, key, why, type, &problem_);
  }

  RunObject* run_;
  std::vector<ValuePair> pairs_;
  std::vector<TextValue> texts_;
  std::vector<MediaValue> media_;
  DeviceValues on_device_;
  std::vector<PyObject*> ancestors_;  // the mappings that contain the current one: a cycle is detected by them
  Problem problem_;
};

// The key of an item as an exact str, of a number its text; null when it is rejected (no error set) or must propagate
// (error set).
Ref exact_key(PyObject* key) {
  if (PyUnicode_Check(key)) return Ref(PyUnicode_FromObject(key));  // a subclass may have its own __hash__
  const Ref module(PyImport_ImportModule("tracker._plain_values"));
  Ref text(module ? PyObject_CallMethod(module.get(), "key_text", "(O)", key) : nullptr);
  if (text && PyUnicode_CheckExact(text.get())) return text;
  if (!must_propagate()) PyErr_Clear();
  return {};
}

// What a member of an enum stands for; null, with no error set, for anything else.
Ref enum_value(PyObject* value) {
  const Ref name(PyUnicode_FromString("enum"));
  const Ref module = name ? Ref(PyImport_GetModule(name.get())) : Ref();
  const Ref kind = module ? Ref(PyObject_GetAttrString(module.get(), "Enum")) : Ref();
  Ref out = kind && PyObject_IsInstance(value, kind.get()) > 0 ? Ref(PyObject_GetAttrString(value, "value")) : Ref();
  if (!must_propagate()) PyErr_Clear();
  return out;
}

std::string shown(PyObject* object) {
  const Ref text(PyObject_Repr(object));
  std::string_view view;
  if (text && utf8_of(text.get(), &view)) return std::string(view.substr(0, 100));
  PyErr_Clear();
  return std::string("<") + Py_TYPE(object)->tp_name + ">";
}

bool is_nested(PyObject* value) {
  if (PyDict_Check(value)) return true;
  if (!PyMapping_Check(value) || PyUnicode_Check(value) || PySequence_Check(value) != 0) {
    // Every class with __getitem__ passes PyMapping_Check; as for dict.update(), only those with keys() are mappings.
    if (!PyMapping_Check(value) || PyUnicode_Check(value) || PyList_Check(value) || PyTuple_Check(value)) return false;
  }
  if (PyObject_HasAttrString(value, "keys") == 0 || PyObject_HasAttrString(value, "dtype") != 0) return false;
  // A data frame is one value, and refused as one, unless it has one number for each column.
  if (PyObject_HasAttrString(value, "columns") == 0) return true;
  const Py_ssize_t rows = PyObject_Size(value);
  if (rows < 0) PyErr_Clear();
  return rows == 1;
}

// The entries of a mapping or of an object with fields, each read separately (tracker/_entries.py); null, with no error
// set, if there are none.
Ref pairs_read_of(PyObject* value) {
  const Ref module(PyImport_ImportModule("tracker._mapping_entries"));
  Ref pairs(module ? PyObject_CallMethod(module.get(), "pairs_of", "(O)", value) : nullptr);
  if (pairs && PyList_Check(pairs.get())) return pairs;
  if (!must_propagate()) PyErr_Clear();
  return {};
}

bool Collector::add_mapping(PyObject* mapping, const std::string& prefix, Ref items) {
  ancestors_.push_back(mapping);
  // A list of (key, value) tuples that owns them: the dict may change during the conversion.
  if (!items) items = Ref(PyMapping_Items(mapping));
  if (!items && !must_propagate()) {  // one of them cannot be read, or these are fields
    PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &error, &traceback);
    items = pairs_read_of(mapping);
    if (items || PyErr_Occurred() != nullptr) {
      Py_XDECREF(type);
      Py_XDECREF(error);
      Py_XDECREF(traceback);
    } else {
      PyErr_Restore(type, error, traceback);
    }
  }
  bool ok = false;
  if (items) {
    ok = add_items(items.get(), prefix);
  } else if (must_propagate() || prefix.empty()) {
    ok = false;
  } else {
    reject(std::string_view(prefix).substr(0, prefix.size() - 1), take_error_text(), PyExc_TypeError);
    ok = true;
  }
  ancestors_.pop_back();
  return ok;
}

bool Collector::add_items(PyObject* items, const std::string& prefix) {
  const Py_ssize_t count = PyList_GET_SIZE(items);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyList_GET_ITEM(items, i);
    if (!PyTuple_Check(item) || PyTuple_GET_SIZE(item) != 2) {
      reject(prefix, "items() gave no (key, value) pair", PyExc_TypeError);
      continue;
    }
    if (!add_item(PyTuple_GET_ITEM(item, 0), PyTuple_GET_ITEM(item, 1), prefix)) return false;
  }
  return true;
}

bool Collector::add_item(PyObject* key, PyObject* value, const std::string& prefix) {
  if (value == Py_None) return true;
  Ref name = exact_key(key);
  std::string_view text;
  if (!name || !utf8_of(name.get(), &text)) {
    if (must_propagate()) return false;
    PyErr_Clear();
    const bool is_text = PyUnicode_Check(key) != 0;
    reject(prefix + shown(key), is_text ? "a key must be valid Unicode" : "a key must be a str or a number",
           is_text ? PyExc_ValueError : PyExc_TypeError);
    return !must_propagate();
  }
  if (!prefix.empty()) {
    const std::string path = prefix + std::string(text);
    if (is_nested(value)) return add_nested(value, path);
    name = Ref(PyUnicode_FromStringAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
    if (!name || !utf8_of(name.get(), &text)) return false;
    return add_at({name.get(), text}, value);
  }
  if (is_nested(value)) return add_nested(value, text);
  return add_at({name.get(), text}, value);
}

bool Collector::add_nested(PyObject* mapping, std::string_view path, Ref items) {
  if (ancestors_.size() >= kDepthMax) {
    reject(path, "nested deeper than 32 dicts", PyExc_ValueError);
    return true;
  }
  for (const PyObject* ancestor : ancestors_) {
    if (ancestor != mapping) continue;
    reject(path, "a dict that contains itself", PyExc_ValueError);
    return true;
  }
  return add_mapping(mapping, std::string(path) + "/", std::move(items));
}

bool Collector::add_value(PyObject* key, PyObject* value) {
  std::string_view name;
  if (!utf8_of(key, &name)) return false;
  return add_at({key, name}, value);
}

bool Collector::add_at(const Place& place, PyObject* value) {
  if (!run_->keys->knows(place.key)) {
    if (const internal::Status status = internal::check_key(place.name); !status.ok()) {
      reject(place.name, status.message(), PyExc_ValueError);
      return true;
    }
  }
  if (PyUnicode_Check(value)) {
    texts_.push_back({std::string(place.name), Ref::borrow(value)});
    return true;
  }
  if (is_media(value)) {
    media_.push_back({Ref::borrow(place.key), Ref::borrow(value)});
    return true;
  }
  Number number;
  std::string why;
  switch (number_from(value, &number, &why)) {
    case NumberResult::kOk: return add_number(place, number);
    case NumberResult::kRaised: return false;
    case NumberResult::kRejected: return add_foreign(place, value, std::move(why));
    case NumberResult::kOnDevice: return on_device_.add(place.key, value, number.type);
  }
  return true;
}

// No number: what log() takes as a medium by itself, a member of an enum or an object with fields, else a bad value.
bool Collector::add_foreign(const Place& place, PyObject* value, std::string why) {
  if (const Ref meant = enum_value(value)) return add_at(place, meant.get());
  if (must_propagate()) return false;
  Ref medium = media_from(value);
  if (medium) {
    media_.push_back({Ref::borrow(place.key), std::move(medium)});
    return true;
  }
  if (must_propagate()) return false;
  if (PyErr_Occurred() != nullptr) why = take_error_text();
  if (Ref fields = pairs_read_of(value)) return add_nested(value, place.name, std::move(fields));
  why += hint_for(value);
  if (must_propagate()) return false;
  reject(place.name, why, PyExc_TypeError);
  return true;
}

bool Collector::add_number(const Place& place, const Number& number) {
  if (number.rounded && run_->values_rounded++ == 0) {
    run_->run->say_once("rounded",
                        "'" + std::string(place.name) + "': an int beyond int64 is stored as float64 (said once)");
  }
  const KeyTable::Slot* slot = run_->keys->find(place.key);
  uint32_t id = slot != nullptr ? run_->keys->cached_id(*slot, number.type) : 0;
  if (id == 0) {
    const int64_t resolved = run_->keys->resolve(place.key, number.type, run_->run);
    if (resolved < 0) return false;
    id = static_cast<uint32_t>(resolved);
  }
  if (id != 0) {
    pairs_.push_back({number.bits, id, 0});
  } else if (problem_.type == nullptr && ended_here(run_)) {
    problem_ = {error_class(Code::kClosed), "'" + std::string(place.name) + "': the run has ended", 0};
  } else if (problem_.type == nullptr && run_->run->recording()) {  // counted by the run
    problem_ = {error_class(Code::kLimit), "'" + std::string(place.name) + "': the limit of series is reached", 0};
  }
  return true;
}

bool Collector::write_texts(int64_t step) {
  for (size_t i = 0; i < texts_.size(); ++i) {
    const TextValue& entry = texts_[i];
    std::string_view text;
    if (!utf8_of(entry.text.get(), &text)) {
      PyErr_Clear();
      reject(entry.key, "text must be valid Unicode", PyExc_ValueError);
      continue;
    }
    Code code = Code::kOk;
    // A full ring waits up to 10 ms, or as long as it takes.
    const bool quiet = without_gil_but_signals([&] { code = run_->run->log_text(entry.key, text, step); });
    if (!quiet) return drop_rest(i + 1, step);
    if (code == Code::kOk || problem_.type != nullptr || (code == Code::kClosed && !ended_here(run_))) continue;
    problem_ = {
        error_class(code),
        "'" + entry.key + "': the text was dropped and counted (" + std::string(internal::code_name(code)) + ")", 0};
  }
  return true;
}

// The call ends with the error that is set: texts are logged if there is room at once; the rest, the media and the
// values on a device are dropped and counted.
bool Collector::drop_rest(size_t texts_written, int64_t step, size_t media_written) {
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  {
    const internal::WaitScope no_wait;
    for (size_t i = texts_written; i < texts_.size(); ++i) {
      std::string_view text;
      if (utf8_of(texts_[i].text.get(), &text)) {
        (void)run_->run->log_text(texts_[i].key, text, step);
      } else {
        PyErr_Clear();
        reject(texts_[i].key, "text must be valid Unicode", PyExc_ValueError);
      }
    }
    on_device_.drop(run_->run);
    drop_media(media_written, step);
  }
  PyErr_Restore(type, value, trace);
  return false;
}

void Collector::drop_media(size_t written, int64_t step) {
  for (size_t i = written; i < media_.size(); ++i) {
    std::string_view name;
    (void)utf8_of(media_[i].key.get(), &name);
    PyObject* all = media_[i].value.get();
    const bool many = PyList_Check(all) || PyTuple_Check(all);
    const auto values = many ? static_cast<uint64_t>(PySequence_Fast_GET_SIZE(all)) : 1;
    if (run_->run->begin_media(name, step, values) == Code::kOk)
      run_->run->drop_media(name, "no room", "the call that logged them was ended by an error", values);
  }
}

bool Collector::write_media(int64_t step) {
  if (media_.empty()) return true;
  const Ref at(PyLong_FromLongLong(step));
  if (!at) return drop_rest(texts_.size(), step);
  for (size_t i = 0; i < media_.size(); ++i) {
    const MediaValue& entry = media_[i];
    const Ref answer = log_media(reinterpret_cast<PyObject*>(run_), entry.key.get(), entry.value.get(), at.get());
    // The medium that was being made is counted by its maker.
    if (!answer && must_propagate()) return drop_rest(texts_.size(), step, i + 1);
    std::string_view name;
    (void)utf8_of(entry.key.get(), &name);
    if (!answer) {
      reject(name, take_error_text(), PyExc_TypeError);
    } else if (answer.get() != Py_None && problem_.type == nullptr) {  // counted by the callee
      const Ref text(PyObject_Str(answer.get()));
      std::string_view view;
      if (!text || !utf8_of(text.get(), &view)) PyErr_Clear();
      problem_ = {reinterpret_cast<PyObject*>(Py_TYPE(answer.get())), std::string(view), 0};
    }
  }
  return true;
}

// Does not wait for the device: the numbers are logged when they have arrived.
bool Collector::write_device_values(int64_t step) {
  if (on_device_.empty()) return true;
  if (run_->hot->alive == 0) {  // no thread and no copy, for which the exit of a forked child would wait
    on_device_.say_forked(run_->run);
    return true;
  }
  run_->run->raise_step(step);
  const Ref answer = on_device_.log(reinterpret_cast<PyObject*>(run_), step);
  if (!answer) return drop_rest(0, step);
  if (answer.get() == Py_None || problem_.type != nullptr) return true;
  const Ref text(PyObject_Str(answer.get()));
  std::string_view view;
  if (!text || !utf8_of(text.get(), &view)) PyErr_Clear();
  problem_ = {reinterpret_cast<PyObject*>(Py_TYPE(answer.get())), std::string(view), 0};
  return true;
}

bool Collector::write(const int64_t* step) {
  if (step == nullptr) {
    if (pairs_.empty() && texts_.empty() && media_.empty() && on_device_.empty())
      return raise_if_strict(run_, problem_);
    const internal::ClaimedStep next = internal::claim_step(run_->hot);
    const bool ok = write(&next.step);
    internal::return_unused_step(run_->hot, next);
    return ok;
  }
  if (!pairs_.empty() || !texts_.empty() || !media_.empty() || !on_device_.empty()) {
    const int64_t at = *step;
    if (!pairs_.empty() && !record_pairs(run_, pairs_.data(), pairs_.size(), at)) return drop_rest(0, at);
    if (!write_device_values(at) || !write_texts(at) || !write_media(at)) return false;
  }
  return raise_if_strict(run_, problem_);
}

}  // namespace

void reject_value(RunObject* self, std::string_view key, std::string_view why, PyObject* type, Problem* problem) {
  self->run->count_rejected(key, why);
  if (problem->type == nullptr) {
    *problem = {type, "'" + std::string(key.substr(0, 200)) + "': " + std::string(why), 0};
  } else {
    ++problem->more;
  }
}

bool raise_if_strict(RunObject* self, const Problem& problem) {
  if (problem.type == nullptr || !self->strict) return true;
  std::string text = "log: " + problem.text;
  if (problem.more > 0) text += " (and " + std::to_string(problem.more) + " more; the other keys were recorded)";
  PyErr_SetString(problem.type, text.c_str());
  return false;
}

bool log_general(RunObject* self, PyObject* data, const int64_t* step) try {
  Collector collector(self);
  return collector.add_mapping(data, "") && collector.write(step);
} catch (const std::bad_alloc&) {
  PyErr_NoMemory();
  return false;
}

bool log_one_general(RunObject* self, PyObject* key, PyObject* value, const int64_t* step) try {
  Collector collector(self);
  return collector.add_value(key, value) && collector.write(step);
} catch (const std::bad_alloc&) {
  PyErr_NoMemory();
  return false;
}

ValuePair* borrow_pairs(RunObject* self, size_t count, size_t* capacity) {
  if (self->spare != nullptr && self->spare_count >= count) {
    *capacity = self->spare_count;
    return std::exchange(self->spare, nullptr);
  }
  auto* pairs = static_cast<ValuePair*>(PyMem_RawMalloc(count * sizeof(ValuePair)));
  *capacity = count;
  if (pairs == nullptr) PyErr_NoMemory();
  return pairs;
}

void return_pairs(RunObject* self, ValuePair* pairs, size_t capacity) {
  if (self->spare != nullptr && self->spare_count >= capacity) {
    PyMem_RawFree(pairs);
    return;
  }
  PyMem_RawFree(self->spare);
  self->spare = pairs;
  self->spare_count = capacity;
}

}  // namespace tracker::python
