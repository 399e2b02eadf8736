// SPDX-License-Identifier: MIT
#include "exchange/run_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/clock.h"
#include "exchange/config_tree.h"
#include "model/key.h"
#include "model/media.h"
#include "model/redact/payloads.h"
#include "model/redact/redact.h"
#include "query/view/media.h"
#include "query/view/program_name.h"
#include "query/view/run_view.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"
#include "tracker/version.h"

namespace tracker::internal {
namespace {

// Limit: kinds of things left out that are listed. Beyond it: counted as one kind.
constexpr size_t kImportKindsMax = 100;  // kinds of what is omitted may have names from the source
// Of an attribute that stores how much of a part of the source was imported.
constexpr std::string_view kImportMarkPrefix = "imported/";
constexpr const char* kProjectDefault = "imported";

// Makes a label from a source's name of a run: characters that a label cannot have become "_", and it is cut; not from
// a name with a secret in it.
std::string label_from(std::string_view text, std::string_view fallback) {
  std::string out;
  for (const char c : text) out += static_cast<uint8_t>(c) < 0x20 || c == 0x7f ? '_' : c;
  constexpr size_t kRoom = 16;  // for "-2" and the like
  while (out.size() > kLabelBytesMax - kRoom || (!out.empty() && out.size() > kLabelBytesMax / 2 && !is_utf8(out)))
    out.pop_back();
  return check_label("label", out).ok() && check_no_secret("label", out).ok() ? out : std::string(fallback);
}

// Names of files may be too long for a key, or not allowed in one.
std::string mark_key(std::string_view part) { return std::string(kImportMarkPrefix) + Id128::hash_of(part).hex(); }

// The program's name for it: SummaryWriter.add_text() of torch appends a word to the tag.
std::string_view name_of_text(std::string_view metric) {
  constexpr std::string_view kOfTorch = "/text_summary";
  return metric.ends_with(kOfTorch) ? metric.substr(0, metric.size() - kOfTorch.size()) : metric;
}

bool is_mark(const Attribute& attribute) {
  return attribute.type == EventType::kAttribute && attribute.key.starts_with(kImportMarkPrefix);
}

// By the content: a number is valid only in the store where it was recorded.
std::string artifact_identity(const Value& version) {
  return fmt::format("{}/{}@{}", version.text_or("project", ""), version.text_or("name", ""),
                     version.text_or("digest", ""));
}

// The content of a medium, without time and metric: the digest of its file, else the whole description.
std::string medium_content(const Value& value) {
  const std::string digest = value.text_or("digest", "");
  return digest.empty() ? encode_cbor(value) : digest;
}

bool is_imported(const WriterSnapshot& writer) { return writer.identity.journal == kImportJournal; }

}  // namespace

// Stored rows of a metric: how many of each step and time are still to be skipped.
struct RunImport::RowSet {
  std::map<std::tuple<bool, int64_t, int64_t>, uint64_t> rows;
  void add(bool has_step, int64_t step, int64_t time_us) { ++rows[{has_step, has_step ? step : 0, time_us}]; }
  bool take(bool has_step, int64_t step, int64_t time_us) {
    const auto found = rows.find({has_step, has_step ? step : 0, time_us});
    if (found == rows.end() || found->second == 0) return false;
    --found->second;
    return true;
  }
};

struct RunImport::Known {
  using Counts = std::unordered_map<std::string, uint64_t>;  // by metric, still to be skipped
  Counts points, texts;
  Counts unmarked_points, unmarked_texts;  // those of writers that have no marks
  size_t unmarked = 0;                     // such writers
  uint64_t alerts = 0;                     // still to be skipped
  std::set<std::string> artifacts;         // identities of those that the run has recorded as made
  std::set<std::string> artifact_names;    // "project/name" of them
  bool by_rows = false, settings_decided = false;
  std::map<std::string, RowSet> point_rows, text_rows;
  std::optional<std::map<std::tuple<std::string, int64_t, int64_t, int64_t>, uint64_t>> media;  // read when asked for
  std::set<std::tuple<std::string, int64_t, std::string>> media_contents;                       // with `media`
  Value config, summary;
  std::map<std::string, Value> attributes, definitions;
  std::map<std::string, uint64_t> marks;  // by key
  std::unique_ptr<RunView> view;          // as it was before this import

  RowSet* points_of(const std::string& metric) {
    const auto [at, is_new] = point_rows.try_emplace(metric);
    if (is_new)
      if (auto rows = view->history(metric, true); rows.ok())
        for (size_t i = 0; i < rows->size(); ++i)
          at->second.add(rows->row_has_step(i), rows->steps[i], rows->times_us[i]);
    return &at->second;
  }
  RowSet* texts_of(const std::string& metric) {
    const auto [at, is_new] = text_rows.try_emplace(metric);
    if (is_new)
      if (auto rows = view->texts(metric, true); rows.ok())
        for (const TextRow& row : *rows) at->second.add(row.has_step, row.step, row.time_us);
    return &at->second;
  }
};

RunImport::RunImport(ImportStore* store, ImportIdentity identity) : store_(store), identity_(std::move(identity)) {
  if (identity_.created_us < 0) identity_.created_us = 1;  // no run starts before 1970; its rows keep their times
}

RunImport::~RunImport() {
  database_.reset();
  if (!folder_.empty()) remove_import_folder(folder_);  // without finish() nothing is left
}

Result<std::unique_ptr<RunImport>> RunImport::begin(ImportStore* store, const ImportIdentity& identity) {
  std::unique_ptr<RunImport> out(new RunImport(store, identity));
  TRACKER_RETURN_IF_ERROR(out->prepare());
  return out;
}

Id128 RunImport::uid_of(std::string_view kind, std::string_view key) {
  return Id128::hash_of(fmt::format("tracker import\n{}\n{}", kind, key));
}

Status RunImport::prepare() {
  RunIdentity& run = out_.run;
  run.uid = uid_of(identity_.kind, identity_.key);
  out_.source = identity_.source;
  if (const RunFolder* found = store_->find(run.uid)) {
    run = found->identity;
    run_path_ = found->path;
    TRACKER_RETURN_IF_ERROR(load_known(*found));
  } else {
    for (const std::string& each : {identity_.project, identity_.label})
      if (!check_no_secret("label", each).ok()) leave_out("secrets in names of runs");
    run.project = label_from(identity_.project, kProjectDefault);
    auto label = store_->free_label(run.project, label_from(identity_.label, "run"));
    if (!label.ok()) return label.status();
    run.id = std::move(*label);
    run.created_us = identity_.created_us != 0 ? identity_.created_us : realtime_us();
    out_.is_new = true;
  }
  begin_writer();
  settings_us_ = out_.is_new ? out_.run.created_us : realtime_us();  // later ones win
  return !out_.is_new ? Status()
                      : set(EventType::kAttribute, "imported_from", identity_.kind + ": " + identity_.source);
}

Status RunImport::load_known(const RunFolder& folder) {
  auto view = RunView::open(folder);
  if (!view.ok()) return view.status();
  known_ = std::make_unique<Known>();
  known_->config = (*view)->config();
  known_->summary = Value::map();
  attempts_ = attempts_of((*view)->writers());
  for (const WriterSnapshot& writer : (*view)->writers()) {
    if (!is_imported(writer)) continue;  // what was added in this store does not come from the source
    const bool has_marks = std::any_of(writer.attributes.begin(), writer.attributes.end(), is_mark);
    known_->unmarked += has_marks ? 0 : 1;
    known_->alerts += writer.alerts();
    alerts_stored_ += writer.alerts();
    for (const SeriesStats& series : writer.series) {
      known_->points[series.def.name] += series.points;
      if (!has_marks) known_->unmarked_points[series.def.name] += series.points;
    }
    for (const Attribute& attribute : writer.attributes) {
      if (attribute.type == EventType::kText) {
        const auto count = static_cast<uint64_t>(attribute.value.as_int() ? *attribute.value.as_int() : 0);
        known_->texts[attribute.key] += count;
        if (!has_marks) known_->unmarked_texts[attribute.key] += count;
      }
      if (attribute.type == EventType::kArtifact) {
        known_->artifacts.insert(artifact_identity(attribute.value));
        known_->artifact_names.insert(attribute.value.text_or("project", "") + "/" +
                                      attribute.value.text_or("name", ""));
      }
      if (attribute.type == EventType::kSummary) known_->summary.set(attribute.key, attribute.value);
      if (attribute.type == EventType::kMetric) known_->definitions[attribute.key] = attribute.value;
      if (attribute.type != EventType::kAttribute) continue;
      known_->attributes[attribute.key] = attribute.value;
      if (!is_mark(attribute)) continue;
      uint64_t& mark = known_->marks[attribute.key];
      mark = std::max(mark, static_cast<uint64_t>(std::max<int64_t>(attribute.value.int_or("taken", 0), 0)));
    }
  }
  if (!known_->marks.empty()) {  // the marks are complete
    known_->points.clear();
    known_->texts.clear();
    known_->alerts = 0;
  }
  if (Status bad = (*view)->problem_code() == Code::kOk ? Status() : Status((*view)->problem_code(), ""); !bad.ok())
    return Status(bad.code(),
                  fmt::format("{} was imported before and is damaged: {}", folder.path, (*view)->problems().front()),
                  "`tracker rm` it and import again");
  known_->view = std::move(*view);
  return {};
}

uint32_t RunImport::series(std::string_view metric, ValueType type) {
  const std::pair<std::string, ValueType> key{name_of_program(metric), type};
  if (const auto found = ids_.find(key); found != ids_.end()) return found->second;
  if (!check_key(key.first).ok() || last_series_ >= kImportSeriesMax) return 0;
  const uint32_t id = ++last_series_;
  ids_.emplace(key, id);
  const SeriesDef def{id, type, key.first};
  table_.add(def);
  frame_.add_series(def);
  uint64_t* skip = nullptr;
  if (known_ != nullptr)
    if (const auto found = known_->points.find(key.first); found != known_->points.end()) skip = &found->second;
  skip_.push_back(skip);
  stored_rows_.push_back(known_ != nullptr && known_->by_rows ? known_->points_of(key.first) : nullptr);
  return id;
}

bool RunImport::is_stored(uint32_t series, int64_t step, bool has_step, int64_t time_us) {
  if (RowSet* rows = stored_rows_[series]; rows != nullptr) return rows->take(has_step, step, time_us);
  uint64_t* skip = skip_[series];
  if (skip == nullptr || *skip == 0) return false;
  --*skip;
  return true;
}

void RunImport::see_time(int64_t time_us) { last_us_ = std::max(last_us_, time_us); }

Status RunImport::row(std::span<const ValuePair> values, int64_t step, bool has_step, int64_t time_us) {
  kept_.clear();
  for (const ValuePair& value : values) {
    if (value.series == 0) leave_out("points of metrics without a valid name, or of too many metrics");
    else if (!is_stored(value.series, step, has_step, time_us)) kept_.push_back(value);
  }
  see_time(time_us);
  if (kept_.empty()) return {};
  out_.points += kept_.size();
  frame_.add_values(kept_, step, has_step, time_us);
  return flush_if_full();
}

Status RunImport::text(std::string_view metric, std::string_view text, int64_t step, bool has_step, int64_t time_us) {
  if (!check_key(metric).ok() || !is_utf8(text)) {
    leave_out("texts that are not UTF-8, or without a valid name");
    return {};
  }
  if (text.size() > kInlineTextBytesMax) {
    leave_out("texts over 64 KiB");
    return {};
  }
  see_time(time_us);
  if (known_ != nullptr && known_->by_rows && known_->texts_of(std::string(metric))->take(has_step, step, time_us))
    return {};
  if (known_ != nullptr)
    if (auto found = known_->texts.find(std::string(metric)); found != known_->texts.end() && found->second > 0) {
      --found->second;
      return {};
    }
  uint64_t redacted = 0;
  const bool is_secret = is_secret_key(name_of_text(metric));
  const std::string kept = is_secret ? std::string(kRedacted) : redact_text(text, &redacted);
  redacted += is_secret ? 1 : 0;
  if (redacted > 0) leave_out("secrets in texts", redacted);
  ++out_.texts;
  return add_event(EventType::kText, step, has_step, time_us,
                   encode_cbor(Value::Map{{"key", std::string(metric)}, {"text", kept}}));
}

void RunImport::load_media() {
  if (known_->media) return;
  known_->media.emplace();
  if (auto rows = read_media(known_->view.get(), "", true); rows.ok())
    for (const MediaRow& row : *rows) {
      ++(*known_->media)[{row.name, row.step, row.time_us, row.value.int_or("index", 0)}];
      known_->media_contents.emplace(row.name, row.step, medium_content(row.value));
    }
}

bool RunImport::medium_is_there(std::string_view metric, int64_t step, const Value& value) {
  if (known_ == nullptr) return false;
  load_media();
  Value kept = value;  // as media() stores it
  uint64_t redacted = 0;
  redact_medium(metric, &kept, &redacted);
  return known_->media_contents.contains({std::string(metric), step, medium_content(kept)});
}

bool RunImport::media_is_stored(std::string_view metric, int64_t step, int64_t time_us, int64_t index) {
  if (known_ == nullptr) return false;
  load_media();
  const auto found = known_->media->find({std::string(metric), step, time_us, index});
  if (found == known_->media->end() || found->second == 0) return false;
  --found->second;
  return true;
}

Status RunImport::media(std::string_view metric, std::vector<Value> values, int64_t step, int64_t time_us) {
  if (!check_key(metric).ok()) {
    leave_out("media without a valid name", values.size());
    return {};
  }
  see_time(time_us);
  ++media_calls_;
  for (Value& value : values) {
    uint64_t redacted = 0;
    redact_medium(metric, &value, &redacted);
    if (redacted > 0) leave_out("secrets in media", redacted);
    std::string payload = encode_cbor(Value::Map{{"key", std::string(metric)},
                                                 {"call", static_cast<int64_t>(media_calls_)},
                                                 {"time_us", time_us},
                                                 {"value", std::move(value)}});
    if (payload.size() > kMediaDescriptionBytesMax) {
      leave_out("media of which more than 1 MiB is said");
      continue;
    }
    ++out_.media;
    TRACKER_RETURN_IF_ERROR(add_event(EventType::kMedia, step, true, time_us, payload));
  }
  return {};
}

Status RunImport::add_event(EventType type, int64_t step, bool has_step, int64_t time_us, std::string_view payload) {
  event_bytes_ += payload.size() + 32;
  frame_.add_event(type, step, has_step, time_us, payload);
  return flush_if_full();
}

Status RunImport::alert(AlertLevel level, std::string_view title, std::string_view text, int64_t step, bool has_step,
                        int64_t time_us) {
  if (!is_utf8(title) || !is_utf8(text)) {
    leave_out("alerts that are not UTF-8");
    return {};
  }
  see_time(time_us);
  if (known_ != nullptr && known_->alerts > 0) {
    --known_->alerts;
    return {};
  }
  if (alerts_stored_ + out_.alerts >= kAlertsMax) {
    leave_out(fmt::format("alerts beyond {} of a run", kAlertsMax));
    return {};
  }
  uint64_t redacted = 0;
  const Value payload = alert_payload(level, title, text, &redacted);
  if (redacted > 0) leave_out("secrets in alerts", redacted);
  ++out_.alerts;
  return add_event(EventType::kAlert, step, has_step, time_us, encode_cbor(payload));
}

bool RunImport::made_artifact(const std::string& name) const {
  return known_ != nullptr && known_->artifact_names.contains(out_.run.project + "/" + name);
}

Status RunImport::artifact(const Value& event, int64_t time_us) {
  see_time(time_us);
  const Value* version = event.find("value");
  if (version == nullptr) return Status(Code::kInvalid, "an artifact event without a version");
  if (known_ != nullptr && known_->artifacts.contains(artifact_identity(*version))) return {};
  ++out_.artifacts;
  return add_event(EventType::kArtifact, 0, false, time_us, encode_cbor(event));
}

Status RunImport::set(EventType type, std::string_view key, Value value) {
  if (!check_key(key).ok()) {
    leave_out("settings without a valid name");
    return {};
  }
  uint64_t redacted = 0;
  redact(key, &value, &redacted);
  if (redacted > 0) leave_out("secrets in settings", redacted);
  if (type != EventType::kConfig) return store_setting(type, key, value);
  config_.emplace_back(key, std::move(value));
  return {};
}

Status RunImport::store_setting(EventType type, std::string_view key, const Value& value) {
  const std::string payload = encode_cbor(Value::Map{{"key", std::string(key)}, {"value", value}});
  if (payload.size() > kInlineTextBytesMax) {
    leave_out("settings over 64 KiB");
    return {};
  }
  if (known_ != nullptr) {
    const Value* there = nullptr;
    if (type == EventType::kConfig) there = known_->config.find_path(key);
    if (type == EventType::kSummary) there = known_->summary.find(key);
    const auto& others = type == EventType::kMetric ? known_->definitions : known_->attributes;
    if (const auto found = others.find(std::string(key));
        (type == EventType::kAttribute || type == EventType::kMetric) && found != others.end())
      there = &found->second;
    if (there != nullptr && *there == value) return {};
  }
  settings_changed_ = true;
  return add_event(type, 0, false, settings_us_, payload);
}

Status RunImport::keep_config() {
  uint64_t moved = 0;
  for (const auto& [key, value] : side_by_side(config_, &moved))
    TRACKER_RETURN_IF_ERROR(store_setting(EventType::kConfig, key, value));
  if (moved > 0) leave_out("places of settings that have others below them (NAME is kept as NAME/value)", moved);
  return {};
}

uint64_t RunImport::taken(std::string_view part) const {
  if (known_ == nullptr) return 0;
  const auto found = known_->marks.find(mark_key(part));
  return found != known_->marks.end() ? found->second : 0;
}

void RunImport::mark(std::string_view part, uint64_t taken) { marks_.insert_or_assign(std::string(part), taken); }

uint64_t RunImport::begin_part(std::string_view part) {
  if (known_ == nullptr) return 0;
  known_->points.clear();
  known_->texts.clear();
  known_->alerts = 0;
  if (known_->marks.contains(mark_key(part)) || known_->unmarked == 0) return taken(part);
  known_->settings_decided = known_->unmarked > 1 || !known_->marks.empty();
  // One writer without marks belongs to the part with which the run started.
  const bool is_first = identity_.created_us == 0 || identity_.created_us == out_.run.created_us;
  known_->by_rows = known_->unmarked > 1 || !is_first;
  if (!known_->by_rows) {
    known_->points = known_->unmarked_points;
    known_->texts = known_->unmarked_texts;
  }
  return 0;
}

bool RunImport::settings_count() const { return known_ == nullptr || !known_->settings_decided || added() > 0; }

Status RunImport::keep_marks() {
  for (const auto& [part, taken] : marks_)
    TRACKER_RETURN_IF_ERROR(
        set(EventType::kAttribute, mark_key(part),
            Value::Map{{"part", is_utf8(part) ? part : ""}, {"taken", static_cast<int64_t>(taken)}}));
  return {};
}

void RunImport::leave_out(const std::string& kind, uint64_t count) {
  std::map<std::string, uint64_t>& kinds = store_->report().left_out;
  const bool listed = kinds.size() < kImportKindsMax || kinds.contains(kind);
  kinds[listed ? kind : "things of other kinds"] += count;
}

Status RunImport::flush_if_full() {
  const bool full = frame_.approximate_bytes() + event_bytes_ >= kImportFrameBytes;
  return full || frame_.series_held() >= kImportColumnsMax ? flush() : Status();
}

Status RunImport::finish(RunState state, int64_t exit_code, int64_t ended_us) {
  ImportReport& report = store_->report();
  TRACKER_RETURN_IF_ERROR(keep_config());
  const bool changed = out_.is_new || added() > 0 || settings_changed_ || resume_step_;
  out_.changed = changed;
  if (changed) {
    TRACKER_RETURN_IF_ERROR(keep_marks());
    TRACKER_RETURN_IF_ERROR(end_writer(state, exit_code, ended_us));
    if (out_.is_new) {
      TRACKER_RETURN_IF_ERROR(store_->put(folder_, out_.run));
      folder_.clear();
    }
  }
  report.runs.push_back(out_);
  return {};
}

}  // namespace tracker::internal
