// SPDX-License-Identifier: MIT
// TensorBoard logs: each folder with event files is a run (event_folders.h: those of one writer are joined), its files
// one after the other by name, which starts with their time. Scalars, texts, media and hyperparameters are imported;
// the rest is counted. A process that continued at an earlier step is a further attempt.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/fs.h"
#include "exchange/event_file.h"
#include "exchange/event_folders.h"
#include "exchange/event_media.h"
#include "exchange/import_source.h"
#include "exchange/run_import.h"
#include "exchange/tensorboard_events.h"
#include "exchange/wire.h"
#include "model/visible.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kProgressBytes = 4u << 20;
constexpr double kTimeMaxS = 9e12;  // fits into microseconds
// Limit: nesting of a value of hyperparameters. Beyond it: left out.
constexpr int kProtoValueDepthMax = 16;

bool is_time(double seconds) { return std::isfinite(seconds) && std::fabs(seconds) < kTimeMaxS; }

int64_t time_us_of(double seconds) { return is_time(seconds) ? std::llround(seconds * 1e6) : 0; }

// google.protobuf.Value
std::optional<Value> proto_value(std::string_view message, int depth) {
  WireReader reader(message);
  WireField field;
  std::optional<Value> out = Value();
  if (depth > kProtoValueDepthMax) return std::nullopt;
  while (reader.next(&field)) {
    if (field.is(2, WireType::kFixed64)) out = Value(std::bit_cast<double>(field.value));
    if (field.is(3, WireType::kBytes)) out = Value(field.bytes);
    if (field.is(4, WireType::kVarint)) out = Value(field.value != 0);
    if (field.is(6, WireType::kBytes)) {
      Value::List list;
      WireReader items(field.bytes);
      WireField item;
      while (items.next(&item))
        if (auto value = item.is(1, WireType::kBytes) ? proto_value(item.bytes, depth + 1) : std::nullopt)
          list.push_back(std::move(*value));
      out = Value(std::move(list));
    }
  }
  return reader.ok() ? out : std::nullopt;
}

struct TagHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

// What is known of a tag: older programs write its plugin only in its first value.
struct Tag {
  std::string plugin;
  uint32_t series = 0;
  ValueType type = ValueType::kFloat32;
  bool has_series = false;
};

class EventImport {
 public:
  EventImport(ImportStore* store, const StoreMedia& store_media, RunImport* run, const EventFolder& folder)
      : store_(store), store_media_(store_media), run_(run), folder_(folder), time_us_(run->so_far().run.created_us) {}

  void begin_file() { ++files_; }

  // `is_new` false: an earlier import has its rows; only the data of tags and of the run is used.
  Status event(std::string_view record, bool is_new) {
    is_new_ = is_new;
    WireReader reader(record);
    WireField field;
    double wall_time = 0;
    int64_t step = 0;
    std::string_view summary;
    bool has_summary = false, has_start = false;
    while (reader.next(&field)) {
      switch (field.number) {
        case 1: wall_time = std::bit_cast<double>(field.value); break;
        case 2: step = static_cast<int64_t>(field.value); break;
        case 4:
        case 9: run_->leave_out("graphs"); break;
        case 5:
          summary = field.bytes;
          has_summary = field.type == WireType::kBytes;
          if (!has_summary) run_->leave_out("values that cannot be read");
          break;
        case 7: has_start = is_session_start(field.bytes); break;
        case 6: run_->leave_out("log messages"); break;
        case 8: run_->leave_out("run metadata"); break;
        default: break;
      }
    }
    if (!reader.ok()) run_->leave_out("records that are no events");
    if (!reader.ok()) return {};
    if (is_time(wall_time)) time_us_ = time_us_of(wall_time);
    else if (has_summary) run_->leave_out("times that cannot be read");
    const int64_t time_us = time_us_;
    if (has_start && !folder_.is_below) TRACKER_RETURN_IF_ERROR(session_start(step, time_us));
    if (!has_summary) return {};
    WireReader values(summary);
    std::optional<EventValue> before;
    while (values.next(&field)) {
      if (!field.is(1, WireType::kBytes)) continue;
      EventValue value;
      if (!read_event_value(field.bytes, &value)) {
        run_->leave_out("values that cannot be read");
      } else if (before && before->has_number && value.has_number && value.plugin == kExactPlugin &&
                 value.tag == exact_tag(before->tag)) {
        before->type = value.type;  // of an export: the exact value of the float32 before it
        before->bits = value.bits;
      } else {
        if (before) TRACKER_RETURN_IF_ERROR(take(*before, step, time_us));
        before = value;
      }
    }
    if (before) TRACKER_RETURN_IF_ERROR(take(*before, step, time_us));
    if (!values.ok()) run_->leave_out("values that cannot be read");  // its length exceeds the record
    return {};
  }

  RunState state() const { return state_; }
  int64_t ended_us() const { return ended_us_; }

 private:
  Tag& tag_of(const EventValue& value) {
    auto found = tags_.find(value.tag);
    if (found == tags_.end()) found = tags_.emplace(std::string(value.tag), Tag()).first;
    if (!value.plugin.empty()) found->second.plugin = value.plugin;
    return found->second;
  }

  // tensorflow.SessionLog{1 status}
  static bool is_session_start(std::string_view message) {
    WireReader reader(message);
    WireField field;
    bool out = false;
    while (reader.next(&field))
      if (field.is(1, WireType::kVarint)) out = field.value == kSessionStart;
    return out;
  }

  // A process continued at `step`, and TensorBoard forgets the rows of this and later steps. The first such event of a
  // run's first file only marks the start of a process: threads may write rows before it.
  Status session_start(int64_t step, int64_t time_us) {
    const bool is_first = files_ <= 1 && !std::exchange(has_session_, true);
    if (is_first || max_step_ < step) return {};
    max_step_ = step == INT64_MIN ? step : step - 1;
    if (!is_new_) return {};
    for (auto& [name, tag] : tags_) tag.has_series = false;
    return run_->restart(step, time_us);
  }

  static bool is_carried(const EventValue& value, const Tag& tag) {
    return tag.plugin.empty() || tag.plugin == (value.has_number ? "scalars" : "text");
  }

  Status take(const EventValue& value, int64_t step, int64_t time_us) {
    if (value.tag == kSessionStartTag) return hparams(value.plugin_content);
    if (value.tag == "_hparams_/session_end_info") return session_end(value.plugin_content);
    if (value.tag == kExperimentTag) return {};  // which names other runs have, too
    if (folder_.only_name.empty() && folder_.prefix.empty()) return take_named(value, step, time_us);
    const std::string name = folder_.only_name.empty() ? folder_.prefix + std::string(value.tag) : folder_.only_name;
    EventValue named = value;
    named.tag = name;
    return take_named(named, step, time_us);
  }

  Status take_named(const EventValue& value, int64_t step, int64_t time_us) {
    Tag& tag = tag_of(value);
    if ((value.has_number || value.has_text) && is_carried(value, tag)) {
      max_step_ = std::max(max_step_, step);
      if (!is_new_) return {};
    }
    if (value.has_number && (tag.plugin.empty() || tag.plugin == "scalars")) {
      if (!tag.has_series || tag.type != value.type) {
        tag.series = run_->series(value.tag, value.type);
        tag.type = value.type;
        tag.has_series = true;
      }
      const ValuePair pair{value.bits, tag.series, 0};
      return run_->row({&pair, 1}, step, true, time_us);
    }
    if (value.has_text && (tag.plugin.empty() || tag.plugin == "text"))
      return run_->text(value.tag, value.text, step, true, time_us);
    auto found = read_event_media(value, tag.plugin);
    if (!found.empty() && (found[0].bytes.empty() || store_media_))
      return media(value, std::move(found), step, time_us);
    run_->leave_out(tag.plugin.empty() || tag.plugin.size() > 64 ? value.kind : visible(tag.plugin));
    return {};
  }

  Status media(const EventValue& value, std::vector<EventMedium> found, int64_t step, int64_t time_us) {
    max_step_ = std::max(max_step_, step);
    if (!is_new_) return {};
    std::vector<Value> values;
    for (EventMedium& medium : found) {
      if (!medium.bytes.empty()) {
        auto folder = run_->folder();
        if (!folder.ok()) return folder.status();
        auto file = store_media_(*folder, medium.bytes, medium.extension);
        if (!file.ok()) {  // the disk is full: rows and texts are still imported
          store_->report().add_problem(file.status().code(), file.status().to_string());
          run_->leave_out(value.kind);
          continue;
        }
        for (const auto& [key, said] : *file->as_map()) medium.said.set(key, said);
      }
      values.push_back(std::move(medium.said));
    }
    return values.empty() ? Status() : run_->media(value.tag, std::move(values), step, time_us);
  }

  // HParamsPluginData{3 session_start_info{1 hparams: map}}
  Status hparams(std::string_view content) {
    WireReader reader(content);
    WireField field, item, entry;
    while (reader.next(&field)) {
      if (!field.is(3, WireType::kBytes)) continue;
      WireReader info(field.bytes);
      while (info.next(&item)) {
        if (!item.is(1, WireType::kBytes)) continue;
        std::string_view key;
        std::optional<Value> value;
        WireReader pair(item.bytes);
        while (pair.next(&entry)) {
          if (entry.is(1, WireType::kBytes)) key = entry.bytes;
          if (entry.is(2, WireType::kBytes)) value = proto_value(entry.bytes, 0);
        }
        if (value) TRACKER_RETURN_IF_ERROR(run_->set(EventType::kConfig, key, std::move(*value)));
      }
    }
    return {};
  }

  // HParamsPluginData{4 session_end_info{1 status, 2 end_time_secs}}
  Status session_end(std::string_view content) {
    WireReader reader(content);
    WireField field, item;
    while (reader.next(&field)) {
      if (!field.is(4, WireType::kBytes)) continue;
      WireReader info(field.bytes);
      while (info.next(&item)) {
        if (item.is(1, WireType::kVarint)) state_ = item.value == 2 ? RunState::kFailed : RunState::kFinished;
        if (item.is(2, WireType::kFixed64)) ended_us_ = time_us_of(std::bit_cast<double>(item.value));
      }
    }
    return {};
  }

  ImportStore* store_;
  const StoreMedia& store_media_;
  RunImport* run_;
  const EventFolder& folder_;
  std::unordered_map<std::string, Tag, TagHash, std::equal_to<>> tags_;
  RunState state_ = RunState::kFinished;
  int64_t ended_us_ = 0;
  int64_t time_us_;               // of the previous record, for one whose own cannot be read
  int64_t max_step_ = INT64_MIN;  // of rows that are shown
  size_t files_ = 0;
  bool is_new_ = true, has_session_ = false;
};

// The start of a run: the smallest time of a file's first two records, one of which has the version of the program; 0
// if it cannot be read.
int64_t first_time_us(const std::string& path) {
  auto file = EventFile::open(path);
  int64_t out = 0;
  std::string_view record;
  for (int i = 0; i < 2 && file.ok(); ++i) {
    auto got = file->next(&record);
    if (!got.ok() || !*got) break;
    WireReader reader(record);
    WireField field;
    while (reader.next(&field)) {
      if (!field.is(1, WireType::kFixed64)) continue;
      const int64_t time_us = time_us_of(std::bit_cast<double>(field.value));
      if (time_us > 0 && (out == 0 || time_us < out)) out = time_us;
    }
  }
  return out;
}

// events.out.tfevents.<time>.<host>.…
std::string host_of(const std::string& path) {
  const size_t begin = path.find("tfevents.");
  const size_t host = begin == std::string::npos ? begin : path.find('.', begin + 9);
  const size_t end = host == std::string::npos ? host : path.find('.', host + 1);
  return end == std::string::npos ? "" : path.substr(host + 1, end - host - 1);
}

class TensorBoardImport {
 public:
  TensorBoardImport(ImportStore* store, const ImportOptions& options, const ImportProgress& progress, uint64_t total)
      : store_(store), options_(options), progress_(progress), total_(total) {}

  // Imports a run, from its own folder and from those below that belong to it.
  Status run(const std::string& path, const std::vector<EventFolder>& folders) {
    const bool is_root = path == options_.source || !is_directory(options_.source);
    const std::string& first = folders.front().files.front();
    ImportIdentity identity;
    identity.kind = kTensorBoardKind;
    identity.key = identity.source = path;
    identity.project = !options_.project.empty() ? options_.project : root_name();
    identity.label = is_root ? root_name() : name_below(options_.source, path);
    identity.host = host_of(first);
    identity.created_us = first_time_us(first);
    auto run = RunImport::begin(store_, identity);
    if (!run.ok()) return run.status();
    RunState state = RunState::kFinished;
    int64_t ended_us = 0;
    for (const EventFolder& folder : folders) {
      EventImport import(store_, options_.store_media, run->get(), folder);
      for (const std::string& file : folder.files) TRACKER_RETURN_IF_ERROR(one_file(path, file, run->get(), &import));
      if (import.state() == RunState::kFailed) state = import.state();
      ended_us = std::max(ended_us, import.ended_us());
    }
    return (*run)->finish(state, state == RunState::kFailed ? 1 : 0, ended_us);
  }

 private:
  std::string root_name() const {
    const std::string folder = is_directory(options_.source) ? options_.source : parent_path(options_.source);
    return last_name(folder);
  }

  Status one_file(const std::string& run_folder, const std::string& path, RunImport* run, EventImport* import) {
    auto file = EventFile::open(path);
    if (!file.ok()) {
      store_->report().add_problem(file.status().code(), file.status().to_string());
      return {};
    }
    // In bytes, up to the end of a record: files grow in any order, and a file that ends within a record may have more
    // of it at the next import.
    const std::string part = name_below(run_folder, path);
    const uint64_t taken = run->taken(part);
    if (file->size() < taken)
      store_->report().add_problem(
          Code::kCorrupt, fmt::format("{} has {} bytes, and {} of it were imported before: it is another file, "
                                      "or was cut",
                                      path, file->size(), taken));
    import->begin_file();
    uint64_t end = taken;
    for (std::string_view record;;) {
      const uint64_t begin = file->offset();
      auto got = file->next(&record);
      if (got.ok() && *got) end = std::max(end, file->offset());
      if (got.ok() && !*got) break;
      if (!got.ok() && got.status().code() == Code::kLimit) {
        run->leave_out("records over 64 MiB");
      } else if (!got.ok()) {
        store_->report().add_problem(got.status().code(), got.status().to_string());
        if (got.status().code() != Code::kCorrupt) break;
      } else {
        TRACKER_RETURN_IF_ERROR(import->event(record, begin >= taken));
      }
      if (done_ + file->offset() >= shown_ + kProgressBytes) {
        shown_ = done_ + file->offset();
        if (progress_) progress_(std::min(shown_, total_), total_);
      }
    }
    done_ += file->size();
    run->mark(part, end);
    return {};
  }

  ImportStore* store_;
  const ImportOptions& options_;
  const ImportProgress& progress_;
  uint64_t total_, done_ = 0, shown_ = 0;
};

}  // namespace

Status import_tensorboard(ImportStore* store, const ImportOptions& options, const SourceFiles& files,
                          const ImportProgress& progress) {
  TensorBoardImport import(store, options, progress, bytes_of(files.event_files));
  for (const auto& [folder, parts] : event_runs(store, options, files.event_files))
    TRACKER_RETURN_IF_ERROR(import.run(folder, parts));
  return {};
}

}  // namespace tracker::internal
