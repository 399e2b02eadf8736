// SPDX-License-Identifier: MIT
// Applies the events and losses of a writer's frames in memory, for files that have no tables: the result is that of
// the tables that EventRows keeps in a database. Threads: one at a time. Cost: memory for each key that is set.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "codec/frame.h"
#include "storage/log/writer_snapshot.h"

namespace tracker::internal {

// Decodes the payload of an end event; nothing if this version does not know the state in it.
std::optional<WriterEnd> end_from_value(const Value& value, int64_t time_us);

class EventState {
 public:
  // Events with a payload that this version does not understand change nothing.
  void apply(const FrameView& frame) { apply(frame.events(), frame.losses()); }
  void apply(const std::vector<Event>& events, const std::vector<Loss>& losses);
  std::vector<Attribute> attributes() const;  // in the order first set
  std::vector<Loss> losses() const;           // totals by (series, reason)
  const std::optional<WriterEnd>& end() const { return end_; }
  std::optional<int64_t> step_max() const { return step_max_; }  // of texts and media
  const std::optional<Value>& recovered() const { return recovered_; }

 private:
  struct Entry {
    uint64_t order = 0;
    Value value;
    int64_t time_us = 0;
    int64_t count = 0;
  };

  void apply(const Event& event);
  Entry& touch(EventType kind, const std::string& key, int64_t time_us);
  void set(const std::string& key, const Value& value, int64_t time_us);
  void merge(const std::string& prefix, const Value& value, int64_t time_us);

  std::map<std::pair<EventType, std::string>, Entry> entries_;
  std::map<std::pair<uint32_t, LossReason>, uint64_t> losses_;
  std::optional<WriterEnd> end_;
  std::optional<Value> recovered_;
  std::optional<int64_t> step_max_;
  uint64_t next_order_ = 1;
};

}  // namespace tracker::internal
