// SPDX-License-Identifier: MIT
#include "key_table.h"

#include <new>

#include "ref.h"
#include "run/run.h"

namespace tracker::python {

using internal::Run;
using internal::ValueType;

KeyTable::~KeyTable() {
  for (Slot& slot : slots_) Py_XDECREF(slot.key);
  for (Known& known : known_) Py_XDECREF(known.key);
  Py_XDECREF(names_);
}

int64_t KeyTable::entry_of(PyObject* key) const {
  if (names_ == nullptr) return -1;
  PyObject* index = PyDict_GetItemWithError(names_, key);
  return index != nullptr ? PyLong_AsLongLong(index) : -1;
}

bool KeyTable::knows(PyObject* key) const { return find(key) != nullptr || entry_of(key) >= 0; }

void KeyTable::forget_ids() {
  for (MetricIds& ids : entries_) ids = {};
  for (Slot& slot : slots_) slot.float64 = 0;
  for (Known& known : known_) known.float64 = 0;
}

bool KeyTable::grow() {
  std::vector<Slot> old;
  try {
    old.resize(slots_.size() * 2);
  } catch (const std::bad_alloc&) {
    return false;
  }
  old.swap(slots_);
  --shift_;
  for (const Slot& slot : old) {
    if (slot.key == nullptr) continue;
    place(slot.key, slot.entry);
    Py_DECREF(slot.key);
  }
  return true;
}

void KeyTable::place(PyObject* key, uint32_t entry) {
  Slot* set = slots_.data() + set_of(key);
  Slot* slot = nullptr;
  for (size_t i = 0; i < kWays && slot == nullptr; ++i)
    if (set[i].key == nullptr || set[i].key == key) slot = set + i;
  if (slot == nullptr) slot = set + (victim_++ % kWays);
  PyObject* old = slot->key;
  *slot = {Py_NewRef(key), entries_[entry].of[static_cast<size_t>(ValueType::kFloat64)], entry};
  Py_XDECREF(old);
}

void KeyTable::remember(PyObject* key, uint32_t entry) {
  Known& known = known_[entry];
  known.float64 = entries_[entry].of[static_cast<size_t>(ValueType::kFloat64)];
  if (known.key == key) return;
  PyObject* old = known.key;
  known.key = Py_NewRef(key);
  Py_XDECREF(old);
}

uint32_t KeyTable::stray(PyObject* key, uint32_t previous) {
  const Slot* slot = find(key);
  if (slot == nullptr) return kNoEntry;
  const uint32_t entry = slot->entry;
  remember(key, entry);
  if (previous == kNoEntry) first_ = entry;
  else known_[previous].next = entry;
  return entry;
}

int64_t KeyTable::resolve(PyObject* key, ValueType type, Run* run) try {
  if (names_ == nullptr && (names_ = PyDict_New()) == nullptr) return -1;
  int64_t entry = entry_of(key);
  uint32_t id = entry >= 0 ? entries_[static_cast<size_t>(entry)].of[static_cast<size_t>(type)] : 0;
  if (id == 0) {
    std::string_view name;
    if (!utf8_of(key, &name)) return -1;
    id = run->series_id(name, type);
    if (id == 0) return 0;
  }
  if (entry < 0) {
    entry = static_cast<int64_t>(entries_.size());
    const Ref index(PyLong_FromLongLong(entry));
    if (known_.size() == entries_.size()) known_.push_back(Known{});  // else the last try found no memory
    entries_.emplace_back();
    if (!index || PyDict_SetItem(names_, key, index.get()) < 0) {
      known_.pop_back();
      entries_.pop_back();
      return -1;
    }
    // Half full: 5 % of the sets of four overflow.
    if (entries_.size() * 2 > slots_.size() && slots_.size() < kSlotsMax) grow();
  }
  entries_[static_cast<size_t>(entry)].of[static_cast<size_t>(type)] = id;
  place(key, static_cast<uint32_t>(entry));
  remember(key, static_cast<uint32_t>(entry));
  return id;
} catch (const std::bad_alloc&) {
  PyErr_NoMemory();
  return -1;
}

}  // namespace tracker::python
