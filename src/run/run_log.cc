// SPDX-License-Identifier: MIT
// What a run logs beside the points of the hot path: names of series, texts, config, summary, definitions.
#include <fmt/format.h>

#include <mutex>
#include <new>
#include <utility>

#include "journal/ring/ring_room.h"
#include "model/metric_definition.h"
#include "model/redact/redact.h"
#include "model/value_tree.h"
#include "query/view/program_name.h"
#include "run/run_impl.h"

namespace tracker::internal {

void Run::count_no_memory(bool text) noexcept {
  const JournalUse use(hot_);
  if (use.get() != nullptr) use.get()->count_loss(text ? kTextLosses : 0, LossReason::kRingFull, 1);
  else count_late(hot_, text ? 0 : 1, text ? 1 : 0);
}

uint32_t Run::series_id(std::string_view name, ValueType type) noexcept try {
  const JournalUse use(hot_);
  if (use.get() == nullptr) {
    if (hot_->alive == 0) say_forked_once();
    else if (impl_->writer && check_key(name).ok()) count_late(hot_, 1);
    return 0;
  }
  std::string renamed;
  if (is_system_series(name)) {
    renamed = name_of_program(name);
    impl_->warnings.warn_once(
        "system series", fmt::format("metrics named {0}... are what the tracker samples: '{1}' is stored as '{2}{1}'",
                                     kSystemPrefix, name.substr(0, 80), kProgramPrefix));
    name = renamed;
  }
  if (const Status status = check_key(name); !status.ok()) {
    count_rejected(name, status.message());
    return 0;
  }
  const uint32_t id = use.get()->series_id(name, type);
  if (id == 0) {
    use.get()->count_loss(0, LossReason::kKeyLimit, 1);
    impl_->warnings.warn_once(
        "series limit",
        fmt::format("no more metrics can be defined ({} at most, and while the journal has room); points "
                    "of further ones are dropped and counted",
                    kSeriesMax));
  }
  return id;
} catch (const std::bad_alloc&) {
  count_no_memory(false);
  return 0;
}

int64_t Run::next_step() const { return hot_next_step(hot_); }
int64_t Run::step() const { return hot_step(hot_); }

void Run::raise_step(int64_t step) {
  if (const JournalUse use(hot_); use.get() != nullptr) use.get()->raise_step(step);
}

void Run::drop_values(std::string_view name, ValueType type, uint64_t values, std::string_view why) noexcept try {
  const uint32_t id = series_id(name, type);
  const JournalUse use(hot_);
  if (use.get() == nullptr) return;
  use.get()->count_loss(id, LossReason::kDevice, values);
  impl_->warnings.warn_once("device", fmt::format("values on a device are dropped and counted: {}", why));
} catch (const std::bad_alloc&) {}

void Run::count_rejected(std::string_view key, std::string_view why, uint64_t count, bool is_entry) noexcept try {
  const JournalUse use(hot_);
  if (use.get() == nullptr) return;
  use.get()->count_loss(0, LossReason::kRejected, count);
  const std::string shown(key.substr(0, 80));
  impl_->warnings.warn_once(
      "key " + shown, is_entry
                          ? fmt::format("'{}': {}", shown, why)
                          : fmt::format("'{}' is not logged: {}; the other keys of the call are kept", shown, why));
} catch (const std::bad_alloc&) {}  // counted, and without memory not said

void Run::say_once(std::string_view topic, std::string_view text) noexcept try {
  if (!impl_->forked()) impl_->warnings.warn_once(topic, text);
} catch (const std::bad_alloc&) {}  // without memory not said

void Run::count_changed_step(std::string_view topic, std::string_view text) noexcept {
  impl_->steps_changed.fetch_add(1, std::memory_order_relaxed);
  say_once(topic, text);
}

// Through the ring when it fits there, else through the bounded queue of large values.
Code Run::log_event(EventType type, const Value& payload, int64_t step, bool has_step) {
  const JournalUse use(hot_);
  if (use.get() == nullptr) {
    if (hot_->alive == 0) say_forked_once();
    else if (impl_->writer && !impl_->observed()) count_late(hot_, 0, type == EventType::kText ? 1 : 0);
    return Code::kClosed;
  }
  const uint32_t lost_as = type == EventType::kText ? kTextLosses : kEntryLosses;
  const DiskRoom room = impl_->writer->disk_room();
  if (room == DiskRoom::kOnlyTheEnd || (room == DiskRoom::kNoPoints && type == EventType::kText)) {
    use.get()->count_loss(lost_as, LossReason::kMaxDisk, 1);
    return Code::kLimit;
  }
  std::string bytes = encode_cbor(payload);
  // Of values that replace each other the last one must come last: after a large one that waits in memory it
  // goes through the ring, where it survives a kill, and once more after the large one.
  const bool replaces = type == EventType::kConfig || type == EventType::kSummary || type == EventType::kAttribute ||
                        type == EventType::kMetric;
  const bool once_more = replaces && impl_->writer->has_large();
  if (bytes.size() <= kRingPayloadMax) {
    const Code code = use.get()->log_event(type, bytes, step, has_step);
    if (code == Code::kOk && once_more) {
      (void)impl_->writer->push_large(type, std::move(bytes), step, has_step);
      return code;
    }
    if (code == Code::kLimit)
      impl_->warnings.warn_once(
          "ring full",
          "more is logged than can be stored in time; texts, config or summary values that find no "
          "room are dropped and counted");
    if (code != Code::kUnsupported) return code;
  }
  // Larger: it waits in memory for the drain thread, at most 100 ms (P1: "larger values once spooled").
  bool disk_waits = false;
  const Code code = impl_->writer->push_large(type, std::move(bytes), step, has_step, false, &disk_waits);
  if (code == Code::kOk && type == EventType::kText) {
    use.get()->count_unfiled_text();
    if (has_step) use.get()->raise_step(step);
  }
  if (code == Code::kClosed && type == EventType::kText) count_late(hot_, 0, 1);
  if (code == Code::kLimit) {
    const bool disk = impl_->writer->disk_room() != DiskRoom::kEnough;  // which is said by the thread that looks
    use.get()->count_loss(lost_as,
                          disk         ? LossReason::kMaxDisk
                          : disk_waits ? LossReason::kDisk
                                       : LossReason::kTooLarge,
                          1);
    if (!disk && disk_waits)
      impl_->warnings.warn_once(
          "store late", fmt::format("more than {} MiB of points, texts and config wait for the disk; further large "
                                    "texts are dropped and counted",
                                    kWaitingBytesMax >> 20));
    else if (!disk)
      impl_->warnings.warn_once(
          "large",
          fmt::format("more than {} MiB of texts and config wait for the disk; further ones are dropped and counted",
                      kLargeBytesMax >> 20));
  }
  return code;
}

Code Run::log_text(std::string_view key, std::string_view text, int64_t step, bool has_step) {
  if (const Status status = check_key(key); !status.ok()) {
    count_rejected(key, status.message());
    return Code::kInvalid;
  }
  uint64_t found = 0;
  const bool secret = is_secret_key(key);
  std::string clean = secret ? std::string(kRedacted) : redact_text(text, &found);
  found += secret;
  if (found > 0 && !impl_->forked()) {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->redacted += found;
  }
  return log_event(EventType::kText, Value::Map{{"key", std::string(key)}, {"text", std::move(clean)}}, step, has_step);
}

// What lies at paths that no single key may have is left out and counted, each as it would be alone.
void Run::reject_long_paths(std::string_view key, Value* value) {
  Value::Map* map = value->as_map();
  if (map == nullptr) return;
  std::string first;
  const uint64_t count = drop_long_paths(key.size(), map, &first);
  if (count == 0) return;
  if (!key.empty()) first = fmt::format("{}/{}", key, first);
  std::string why = check_key(first).message();
  if (count > 1) why += fmt::format(", and so {} more", count - 1);
  count_rejected(first, why, count);
}

Code Run::set_entry(EventType type, std::string_view key, Value value) {
  if (!(type == EventType::kConfig && key.empty()))
    if (const Status status = check_key(key); !status.ok()) {
      count_rejected(key, status.message());
      return Code::kInvalid;
    }
  if (impl_->forked()) return Code::kClosed;
  if (type == EventType::kConfig) reject_long_paths(key, &value);
  std::string given_twice;
  uint64_t lost = 0;
  const auto see_lost = [&](const std::string& prefix, const ValueTree& tree) {
    lost += tree.values_lost();
    if (given_twice.empty() && !tree.given_twice().empty()) given_twice = prefix + tree.given_twice();
  };
  if (type == EventType::kConfig && !key.empty() && value.is_map()) {  // keys with "/" in it lead into dicts below them
    ValueTree tree;
    tree.merge(value);
    see_lost(std::string(key) + "/", tree);
    value = tree.take();
  }
  const size_t slash = key.rfind('/');
  uint64_t redacted = 0;
  redact(slash == std::string_view::npos ? key : key.substr(slash + 1), &value, &redacted);
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->redacted += redacted;
    if (type == EventType::kSummary) impl_->summary.set(key, value);
    if (type == EventType::kConfig && !key.empty()) {
      impl_->config.set_path(key, value);
      see_lost("", impl_->config);
    }
    if (type == EventType::kConfig && key.empty() && value.as_map() != nullptr) {
      impl_->config.merge(value);  // leaf by leaf, as it is stored
      see_lost("", impl_->config);
    }
    if (type == EventType::kAttribute && key == "name" && value.as_text() != nullptr) impl_->name = *value.as_text();
  }
  if (lost > 0) {
    if (const JournalUse use(hot_); use.get() != nullptr) use.get()->count_loss(0, LossReason::kRejected, lost);
    impl_->warnings.warn_once(
        "config twice " + given_twice.substr(0, 80),
        fmt::format("config has two values for '{}' (a '/' in a key leads into a dict below it): the "
                    "later one is kept{}",
                    given_twice, lost > 1 ? fmt::format(", and so {} more", lost - 1) : ""));
  }
  if (!impl_->writer || impl_->observed()) return Code::kOk;  // a gated rank keeps what was set
  return log_event(type, Value::Map{{"key", std::string(key)}, {"value", std::move(value)}}, 0, false);
}

Code Run::set_config(std::string_view key, Value value) { return set_entry(EventType::kConfig, key, std::move(value)); }
Code Run::set_summary(std::string_view key, Value value) {
  return set_entry(EventType::kSummary, key, std::move(value));
}
Code Run::set_attribute(std::string_view key, Value value) {
  return set_entry(EventType::kAttribute, key, std::move(value));
}

Status Run::define_metric(std::string_view name, std::string_view step_metric, const std::vector<std::string>& summary,
                          std::string_view goal) {
  auto definition = make_definition(name, step_metric, summary, goal);
  if (!definition.ok()) return definition.status();
  if (!impl_->writer || impl_->observed() || impl_->forked()) return {};
  bool room = true;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    room = impl_->defined.size() < kMetricDefinitionsMax || impl_->defined.count(std::string(name)) > 0;
    if (room) impl_->defined.emplace(name);
  }
  if (!room) {
    const std::string text = fmt::format("{} metrics and patterns are defined already", kMetricDefinitionsMax);
    impl_->warnings.warn_once("definitions", text + "; further ones are not recorded");
    return Status(Code::kLimit, text);
  }
  const Value payload = Value::Map{{"key", std::string(name)}, {"value", definition->to_value()}};
  const Code code = log_event(EventType::kMetric, payload, 0, false);
  return code == Code::kOk ? Status() : Status(code, fmt::format("\"{}\" could not be defined", name));
}

Value Run::config() const {
  if (impl_->forked()) return impl_->config.value();  // as it was at the fork; no thread changes it here
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->config.value();
}

Value Run::config_entry(std::string_view key) const {
  if (impl_->forked()) return impl_->config.entry(key);
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->config.entry(key);
}

Value Run::explicit_summary() const {
  if (impl_->forked()) return impl_->summary.value();
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return impl_->summary.value();
}

}  // namespace tracker::internal
