// SPDX-License-Identifier: MIT
#include "journal/ring/series_names.h"

#include <algorithm>

#include "model/key.h"

namespace tracker::internal {

uint32_t SeriesNames::find(std::string_view name, ValueType type) const {
  return ids_.find(name, [&](uint32_t id) { return entry(id).type == type && entry(id).view() == name; });
}

uint32_t SeriesNames::first_of(std::string_view name) const {
  return ids_.find(name, [&](uint32_t id) { return entry(id).view() == name; });
}

std::vector<uint32_t> SeriesNames::of(std::string_view name) const {
  std::vector<uint32_t> out;
  (void)ids_.find(name, [&](uint32_t id) {
    if (entry(id).view() == name) out.push_back(id);
    return false;
  });
  return out;
}

SeriesDef SeriesNames::def(uint32_t id) const { return {id, entry(id).type, std::string(entry(id).view())}; }

void SeriesNames::make_room(std::string_view name) {
  static_assert(kKeyBytesMax <= kNameBytesAPiece && kKeyBytesMax <= UINT16_MAX);
  ids_.make_room([this](uint32_t id) { return entry(id).view(); });
  if (size_ == entries_.size() * kEntriesAPiece) entries_.push_back(std::make_unique<Entry[]>(kEntriesAPiece));
  if (name_bytes_left_ >= name.size()) return;
  names_.push_back(std::make_unique_for_overwrite<char[]>(kNameBytesAPiece));
  name_bytes_left_ = kNameBytesAPiece;
}

uint32_t SeriesNames::add(std::string_view name, ValueType type) noexcept {
  const uint32_t same = first_of(name);
  const uint32_t id = ++size_;
  Entry& entry = entries_[(id - 1) / kEntriesAPiece][(id - 1) % kEntriesAPiece];
  if (same != 0) {
    entry = this->entry(same);
    entry.type = type;
  } else {
    char* const at = names_.back().get() + (kNameBytesAPiece - name_bytes_left_);
    std::copy(name.begin(), name.end(), at);
    name_bytes_left_ -= name.size();
    entry = {at, id, static_cast<uint16_t>(name.size()), type};
  }
  ids_.add(name, id);
  return id;
}

}  // namespace tracker::internal
