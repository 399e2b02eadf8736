// SPDX-License-Identifier: MIT
// A hash table with linear probing for items that know their names themselves. Threads: one at a time. Memory: less
// than 2.7 times the size of an item each. Cost: a hash and mostly one compare.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

namespace tracker::internal {

constexpr size_t kNameTableSlots = 64;  // at first; doubled when three quarters are taken

// An Item{} is an empty slot, never an item.
template <typename Item>
class NameTable {
 public:
  // The first item added under `name` for which `is` returns true, else Item{}. `is` is called for items of other names
  // too.
  template <typename Is>
  Item find(std::string_view name, const Is& is) const {
    if (slots_.empty()) return Item{};
    for (size_t at = place(name);; at = next(at))
      if (slots_[at] == Item{} || is(slots_[at])) return slots_[at];
  }

  // Call this before add(), which then cannot fail. `name_of` returns the name of an item.
  template <typename NameOf>
  void make_room(const NameOf& name_of) {
    if (slots_.size() * 3 > (items_ + 1) * 4) return;
    std::vector<Item> before(slots_.empty() ? kNameTableSlots : slots_.size() * 2);
    before.swap(slots_);
    // In the order of a search, so that items of one name keep their order: once around, from the first empty slot.
    size_t first = 0;
    while (first < before.size() && before[first] != Item{}) ++first;
    for (size_t i = 0; i < before.size(); ++i) {
      const Item item = before[(first + i) % before.size()];
      if (item != Item{}) put(name_of(item), item);
    }
  }
  void add(std::string_view name, Item item) noexcept {
    put(name, item);
    ++items_;
  }

 private:
  size_t place(std::string_view name) const { return std::hash<std::string_view>{}(name) & (slots_.size() - 1); }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }
  void put(std::string_view name, Item item) noexcept {
    size_t at = place(name);
    while (slots_[at] != Item{}) at = next(at);
    slots_[at] = item;
  }

  std::vector<Item> slots_;
  size_t items_ = 0;
};

}  // namespace tracker::internal
