// SPDX-License-Identifier: MIT
#include "storage/database/event_rows.h"

#include <algorithm>

#include "storage/database/schema.h"

namespace tracker::internal {

Status EventRows::prepare(Sqlite& db) {
  const struct {
    Statement* statement;
    const char* sql;
  } all[] = {
      {&set_,
       "INSERT INTO attributes(kind,key,value,time_us,count) VALUES(?1,?2,?3,?4,1) ON CONFLICT(kind,key) "
       "DO UPDATE SET value=?3, time_us=?4, count=count+1"},
      // '0' follows '/': all keys that begin with key + "/".
      {&drop_below_, "DELETE FROM attributes WHERE kind=?1 AND key>(?2||'/') AND key<(?2||'0')"},
      {&count_text_,
       "INSERT INTO attributes(kind,key,value,time_us,count) VALUES(?1,?2,x'f6',?3,1) "
       "ON CONFLICT(kind,key) DO UPDATE SET time_us=?3, count=count+1"},
      {&drop_recovered_, "DELETE FROM meta WHERE key='recovered'"},
      {&raise_step_, "INSERT INTO meta VALUES(?1,?2) ON CONFLICT(key) DO UPDATE SET value=max(value,?2)"},
      {&meta_, "INSERT OR REPLACE INTO meta VALUES(?,?)"},
      {&loss_, "INSERT INTO losses VALUES(?1,?2,?3) ON CONFLICT(series,reason) DO UPDATE SET count=count+?3"},
  };
  for (const auto& [statement, sql] : all) {
    auto prepared = db.prepare(sql);
    if (!prepared.ok()) return prepared.status();
    *statement = std::move(*prepared);
  }
  return {};
}

Status EventRows::apply(const std::vector<Event>& events, const std::vector<Loss>& losses) {
  step_max_.reset();
  for (const Event& event : events) TRACKER_RETURN_IF_ERROR(apply(event));
  if (step_max_) TRACKER_RETURN_IF_ERROR(raise_step_.bind(meta_key::kStepMax).bind(*step_max_).run());
  for (const Loss& loss : losses)
    TRACKER_RETURN_IF_ERROR(loss_.bind(int64_t{loss.series})
                                .bind(static_cast<int64_t>(loss.reason))
                                .bind(static_cast<int64_t>(loss.count))
                                .run());
  return {};
}

Status EventRows::apply(const Event& event) {
  if (!is_event_type(static_cast<uint8_t>(event.type))) return {};
  auto payload = decode_cbor(event.payload);
  if (!payload.ok()) return {};
  const std::string key = payload->text_or("key", "");
  const Value* value = payload->find("value");
  switch (event.type) {
    case EventType::kConfig:
      if (value == nullptr) return {};
      return key.empty() ? merge("", *value, event.time_us) : set(key, *value, event.time_us);
    case EventType::kSummary:  // flat, as metrics: "a" and "a/b" are two names, "b" is not inside "a"
    case EventType::kAttribute:
    case EventType::kArtifact:
    case EventType::kEnvironment:
    case EventType::kMetric:
      return value == nullptr || key.empty() ? Status() : put(event.type, key, *value, event.time_us);
    case EventType::kAlert:
      return count_text_.bind(static_cast<int64_t>(event.type)).bind(alert_key(*payload)).bind(event.time_us).run();
    case EventType::kConsole:
      return count_text_.bind(static_cast<int64_t>(event.type)).bind("").bind(event.time_us).run();
    case EventType::kMedia:
    case EventType::kText:
      if (event.has_step) step_max_ = std::max(step_max_.value_or(event.step), event.step);
      return count_text_.bind(static_cast<int64_t>(event.type)).bind(key).bind(event.time_us).run();
    case EventType::kNote:
      if (payload->text_or("kind", "") == "went_on") return drop_recovered_.run();  // the writer was alive after all
      if (payload->text_or("kind", "") != "recovered") return {};
      return meta_.bind(meta_key::kRecovered).bind_blob(event.payload).run();
    case EventType::kEnd: {
      payload->set("time_us", event.time_us);
      const std::string bytes = encode_cbor(*payload);
      return meta_.bind(meta_key::kEnd).bind_blob(bytes).run();
    }
  }
  return {};
}

// A value of the config that is set replaces the values below its key, as in a nested map.
Status EventRows::set(const std::string& key, const Value& value, int64_t time_us) {
  TRACKER_RETURN_IF_ERROR(drop_below_.bind(static_cast<int64_t>(EventType::kConfig)).bind(key).run());
  return put(EventType::kConfig, key, value, time_us);
}

Status EventRows::put(EventType kind, const std::string& key, const Value& value, int64_t time_us) {
  const std::string bytes = encode_cbor(value);
  return set_.bind(static_cast<int64_t>(kind)).bind(key).bind_blob(bytes).bind(time_us).run();
}

// A map without a key is merged leaf by leaf, so that a later one does not hide values that an earlier one set.
Status EventRows::merge(const std::string& prefix, const Value& value, int64_t time_us) {
  const Value::Map* map = value.as_map();
  if (map == nullptr || (map->empty() && !prefix.empty()))
    return prefix.empty() ? Status() : set(prefix, value, time_us);
  for (const auto& [name, item] : *map)
    TRACKER_RETURN_IF_ERROR(merge(prefix.empty() ? name : prefix + "/" + name, item, time_us));
  return {};
}

}  // namespace tracker::internal
