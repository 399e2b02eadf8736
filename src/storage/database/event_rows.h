// SPDX-License-Identifier: MIT
// Applies the events and losses of a frame to a writer's database: the tables attributes and losses, the end, recovered
// and step_max records of meta. Within the transaction that appends the frame. Threads: as WriterDb.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "codec/frame.h"
#include "storage/sqlite/sqlite.h"

namespace tracker::internal {

class EventRows {
 public:
  Status prepare(Sqlite& db);
  void reset() { *this = EventRows(); }  // before the connection closes
  // Events with a payload that this version does not understand change nothing; they remain in the frame.
  Status apply(const FrameView& frame) { return apply(frame.events(), frame.losses()); }
  Status apply(const std::vector<Event>& events, const std::vector<Loss>& losses);

 private:
  Status apply(const Event& event);
  Status set(const std::string& key, const Value& value, int64_t time_us);
  Status put(EventType kind, const std::string& key, const Value& value, int64_t time_us);
  Status merge(const std::string& prefix, const Value& value, int64_t time_us);

  Statement set_, drop_below_, count_text_, meta_, loss_, drop_recovered_, raise_step_;
  std::optional<int64_t> step_max_;  // of the frame
};

}  // namespace tracker::internal
