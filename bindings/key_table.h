// SPDX-License-Identifier: MIT
// From a metric's str object to its series ids without hashing its text: a table indexed by the object's address.
//
// Each slot owns a reference to its key, so an address in the table always means that very str (4 ns a look-up,
// measured; hashing the bytes 8, std::unordered_map 200). If that fails, a dict finds equal keys that are other
// objects, such as f-strings. A call of many keys needs neither: each metric remembers which one followed it last time,
// so keys in the same order are found one after the other (KeyTable::Walk).
// Memory: 16 bytes a slot and about 150 bytes a metric; only keys that have a series are kept in the dict. Threads:
// with the GIL held. No function runs Python code: every key is an exact str.
#pragma once

#include <Python.h>

#include <cstdint>
#include <vector>

#include "model/number.h"

namespace tracker::internal {
class Run;
}

namespace tracker::python {

// The series ids of one metric by ValueType; 0 = not requested yet.
struct MetricIds {
  uint32_t of[8] = {};
};

class KeyTable {
 public:
  struct Slot {
    PyObject* key;     // owned; null when free
    uint32_t float64;  // id as float64, the usual type; 0 = see entry
    uint32_t entry;
  };

  KeyTable() = default;
  ~KeyTable();
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  // Finds the keys of one call, in their order. Valid while only resolve() changes the table.
  class Walk {
   public:
    explicit Walk(KeyTable* table) : table_(table), expected_(table->first_) {}
    // The entry of exactly this object, kNoEntry if it has none (yet). Cost: one compare if the order is that of the
    // last call, else that of find().
    uint32_t next(PyObject* key) {
      uint32_t entry = expected_;
      if (__builtin_expect(table_->known_[entry].key != key, 0)) {
        entry = table_->stray(key, previous_);
        if (entry == kNoEntry) return entry;
      }
      previous_ = entry;
      expected_ = table_->known_[entry].next;
      return entry;
    }

   private:
    KeyTable* table_;
    uint32_t previous_ = kNoEntry, expected_;
  };
  static constexpr uint32_t kNoEntry = 0;
  uint32_t float64_id(uint32_t entry) const { return known_[entry].float64; }
  uint32_t id_of(uint32_t entry, internal::ValueType type) const {
    return entries_[entry].of[static_cast<size_t>(type)];
  }

  // The slot of exactly this object, or null. `key` may be any object; only a str that was resolved is found.
  const Slot* find(PyObject* key) const {
    const Slot* set = slots_.data() + set_of(key);
    for (size_t i = 0; i < kWays; ++i)
      if (set[i].key == key) return set + i;
    return nullptr;
  }
  uint32_t cached_id(const Slot& slot, internal::ValueType type) const {
    return entries_[slot.entry].of[static_cast<size_t>(type)];
  }
  // The id of an exact str, requested from the run if it is not known. 0: the run gave none. `key` must be valid UTF-8
  // that check_key() accepts. -1 with MemoryError set.
  int64_t resolve(PyObject* key, internal::ValueType type, internal::Run* run);
  // Whether `key` has a series, and so is a valid key.
  bool knows(PyObject* key) const;
  // Keeps the keys and forgets the ids, which are those of another process (Run::attach).
  void forget_ids();

 private:
  // What a Walk compares, in the order in which metrics were first logged: an array of 16 bytes each.
  struct Known {
    PyObject* key;     // owned: the object that was last logged under this name; null for kNoEntry only
    uint32_t float64;  // id as float64; 0 = see entries_
    uint32_t next;     // the entry that followed it last time
  };
  static constexpr size_t kWays = 4;  // one cache line
  static constexpr size_t kSlotsFirst = 64;
  static constexpr size_t kSlotsMax = size_t{1} << 19;

  size_t set_of(PyObject* key) const {
    const auto address = reinterpret_cast<uintptr_t>(key);
    return static_cast<size_t>((address * 0x9e3779b97f4a7c15ull) >> shift_) * kWays;
  }
  bool grow();
  void place(PyObject* key, uint32_t entry);
  void remember(PyObject* key, uint32_t entry);
  uint32_t stray(PyObject* key, uint32_t previous);  // a key that came out of order
  int64_t entry_of(PyObject* key) const;             // -1: none

  std::vector<Slot> slots_ = std::vector<Slot>(kSlotsFirst);
  int shift_ = 64 - 4;  // log2(kSlotsFirst / kWays) = 4
  uint32_t victim_ = 0;
  std::vector<MetricIds> entries_ = std::vector<MetricIds>(1);  // [kNoEntry] has no ids
  std::vector<Known> known_ = std::vector<Known>(1, Known{});   // as long as entries_
  uint32_t first_ = kNoEntry;                                   // where the last walk began
  PyObject* names_ = nullptr;                                   // str -> index into entries_
};

}  // namespace tracker::python
