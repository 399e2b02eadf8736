// SPDX-License-Identifier: MIT
// The series that a live journal has defined, by id and by name. Ids are 1, 2, 3, ... in the order of add(). Threads:
// one at a time. Memory: each name once, and about 25 bytes a series. Cost: a hash, a compare.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/name_table.h"
#include "codec/frame.h"

namespace tracker::internal {

class SeriesNames {
 public:
  uint32_t size() const { return size_; }
  uint32_t find(std::string_view name, ValueType type) const;  // 0: none
  std::vector<uint32_t> of(std::string_view name) const;       // of all types
  SeriesDef def(uint32_t id) const;
  // The least id of the same name: what makes two series one metric.
  uint32_t metric(uint32_t id) const { return entry(id).metric; }

  // Before add(), which then cannot fail. std::bad_alloc; nothing has changed then.
  void make_room(std::string_view name);
  // A name of at most kKeyBytesMax that has no series of this type yet.
  uint32_t add(std::string_view name, ValueType type) noexcept;

 private:
  struct Entry {
    const char* name = nullptr;
    uint32_t metric = 0;
    uint16_t name_bytes = 0;
    ValueType type = ValueType::kFloat64;
    std::string_view view() const { return {name, name_bytes}; }
  };
  static constexpr uint32_t kEntriesAPiece = 1024;  // so that growing copies nothing
  static constexpr size_t kNameBytesAPiece = 16'384;

  const Entry& entry(uint32_t id) const { return entries_[(id - 1) / kEntriesAPiece][(id - 1) % kEntriesAPiece]; }
  uint32_t first_of(std::string_view name) const;

  std::vector<std::unique_ptr<Entry[]>> entries_;
  std::vector<std::unique_ptr<char[]>> names_;
  size_t name_bytes_left_ = 0;  // in the last piece
  NameTable<uint32_t> ids_;
  uint32_t size_ = 0;
};

}  // namespace tracker::internal
