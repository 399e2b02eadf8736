// SPDX-License-Identifier: MIT
#include "storage/writer/writer_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "base/fs.h"
#include "model/system_series.h"
#include "storage/database/log_index.h"
#include "storage/database/writer_parts.h"
#include "storage/database/writer_paths.h"
#include "storage/log/series_stats.h"
#include "storage/writer/part_reader.h"

namespace tracker::internal {
namespace {

constexpr const char* kLookCache = "PRAGMA cache_size=-64";  // KiB: each page is read once

// Records whether the reader of several parts has enough of them.
class StopVisitor : public LogVisitor {
 public:
  explicit StopVisitor(LogVisitor* to) : to_(to) {}
  bool stopped() const { return stopped_; }
  Result<bool> frame(const FrameView& frame) override { return note(to_->frame(frame)); }
  Result<bool> segment(SegmentView* segment, PointRange* wanted) override {
    return note(to_->segment(segment, wanted));
  }

 private:
  Result<bool> note(Result<bool> more) {
    stopped_ = more.ok() && !*more;
    return more;
  }
  LogVisitor* const to_;
  bool stopped_ = false;
};

uint64_t logged_points(const WriterSnapshot& part) {
  uint64_t out = 0;
  for (const SeriesStats& series : part.series)
    if (!is_system_series(series.def.name)) out += series.points;
  return out;
}

}  // namespace

struct WriterReader::Impl {
  struct Part {
    PartFile file;
    std::unique_ptr<PartReader> reader;  // null: it cannot be read, for the reason in `status`
    Status status;
  };

  std::string first_path;  // that part 1 has, or would have
  WriterIdentity identity;
  std::vector<Part> parts;  // the existing ones, by number
  LogIndexCache memory;
  std::string* notice = nullptr;  // while open() runs

  // A part whose identity does not match its name is unreadable too: two files would count as one.
  static Status check(const PartFile& file, const WriterIdentity& said) {
    if (said.run.uid.is_zero()) return {};  // a .frames file whose first record is damaged
    if (!last_name(file.path).starts_with(said.writer.hex()))
      return Status(Code::kCorrupt, fmt::format("{} is of writer {}", file.path, said.writer.hex()));
    if (said.part == file.number) return {};
    return Status(Code::kCorrupt, fmt::format("{} says that it is part {}", file.path, said.part));
  }

  // kCorrupt and kNotFound leave the other parts.
  static bool is_lost(const Status& status) {
    return status.code() == Code::kCorrupt || status.code() == Code::kNotFound;
  }

  // The usual case. Its file is read whatever its name is.
  bool is_one_file() const { return parts.size() == 1 && parts[0].file.number == 1; }

  // Lists the present files. For a single file, only checks whether there is a second part.
  Status list() {
    if (is_one_file() && parts[0].reader) {
      const std::string db = is_frames_path(first_path) ? db_path_of(first_path) : first_path;
      if (!path_exists(part_path(db, 2)) && !path_exists(part_path(frames_path_of(db), 2))) return {};
    }
    const std::vector<PartReader*> before = readable();
    std::vector<PartFile> files = parts_of(first_path);
    if (files.empty() && path_exists(first_path)) files.push_back({1, first_path, is_frames_path(first_path)});
    const bool is_alone = files.size() == 1 && files[0].number == 1;
    std::vector<Part> now;
    for (PartFile& file : files) {
      Part part{std::move(file), nullptr, {}};
      for (Part& known : parts)
        if (known.reader && known.reader->path() == part.file.path) part.reader = std::move(known.reader);
      if (!part.reader) {
        auto opened = PartReader::open(part.file.path, notice);
        part.status = opened.status();
        if (opened.ok() && !is_alone) part.status = check(part.file, (*opened)->identity());
        if (part.status.ok()) part.reader = std::move(*opened);
        else if (!is_lost(part.status)) return part.status;
      }
      now.push_back(std::move(part));
    }
    parts = std::move(now);
    const std::vector<PartReader*> after = readable();
    if (after != before) memory = LogIndexCache();
    if (!after.empty()) return {};
    return parts.empty() ? Status(Code::kNotFound, fmt::format("{} does not exist", first_path)) : parts[0].status;
  }

  std::vector<PartReader*> readable() const {
    std::vector<PartReader*> out;
    for (const Part& part : parts)
      if (part.reader) out.push_back(part.reader.get());
    return out;
  }

  // The range of a part in the log of all parts.
  struct Place {
    PartReader* reader;
    LogPosition begin, end;
    // A position in the part's own counts.
    LogPosition within(const LogPosition& at) const {
      return at <= begin ? LogPosition() : LogPosition{at.seq, at.points - std::min(at.points, begin.points)};
    }
  };

  // The ranges of the readable parts with frames, each without the frames that the next part repeats.
  Result<std::vector<Place>> places() const {
    const std::vector<PartReader*> readers = readable();
    std::vector<Place> out;
    uint64_t up_to = UINT64_MAX;
    for (size_t i = readers.size(); i-- > 0;) {
      auto end = readers[i]->end_of_log(up_to);
      if (!end.ok() && !is_lost(end.status())) return end.status();
      if (!end.ok() || end->seq == 0) continue;
      out.push_back({readers[i], begin_of(readers[i]->identity()), *end});
      up_to = before(*readers[i], up_to);
    }
    std::reverse(out.begin(), out.end());
    for (size_t i = 0; i < out.size(); ++i) {
      // In a .frames file the record with its start may be damaged.
      if (i > 0 && out[i].reader->identity().part == 1) out[i].begin = out[i - 1].end;
      out[i].end.points += out[i].begin.points;
    }
    return out;
  }

  static LogPosition begin_of(const WriterIdentity& part) {
    return part.part > 1 ? LogPosition{part.before.seq, part.before.log_points} : LogPosition();
  }

  // How many frames the parts before this one count, by its record; `up_to` if it has none.
  static uint64_t before(const PartReader& reader, uint64_t up_to) {
    return reader.identity().part > 1 ? std::min(up_to, reader.identity().before.seq) : up_to;
  }

  // --- one snapshot of all parts

  struct United {
    WriterSnapshot out;
    SeriesMap series;
    std::map<std::pair<EventType, std::string>, Attribute> counted;
    std::map<std::pair<uint32_t, LossReason>, uint64_t> losses;
    PartsBefore held;  // by the parts up to now
  };

  // `part` is the next one, with its own counts only.
  static void unite(WriterSnapshot part, United* all) {
    WriterSnapshot& out = all->out;
    const PartsBefore& said = part.identity.before;
    PartsBefore& missing = out.missing;
    const auto more = [](uint64_t wanted, uint64_t held, uint64_t* lost) {
      *lost = std::max(*lost, wanted - std::min(wanted, held));
    };
    more(said.points, all->held.points, &missing.points);
    more(said.texts, all->held.texts, &missing.texts);
    more(said.dropped, all->held.dropped, &missing.dropped);
    if (part.last_seq > 0 && part.identity.part > 1)
      missing.log_points = said.log_points - std::min(said.log_points, out.points);
    all->held.points += logged_points(part);
    all->held.texts += part.texts();
    all->held.dropped += part.dropped;
    for (SeriesStats& stats : part.series) {
      stats.dropped = 0;  // by `losses`
      const auto [at, is_new] = all->series.try_emplace(stats.def.id, stats);
      if (!is_new) append_stats(stats, &at->second);
    }
    for (const Loss& loss : part.losses) all->losses[{loss.series, loss.reason}] += loss.count;
    std::vector<Attribute> state;
    for (Attribute& attribute : part.attributes) {
      if (!is_counted(attribute.type)) {
        state.push_back(std::move(attribute));
        continue;
      }
      auto [at, is_new] = all->counted.try_emplace({attribute.type, attribute.key}, attribute);
      if (is_new) continue;
      const int64_t *now = at->second.value.as_int(), *later = attribute.value.as_int();
      if (now != nullptr && later != nullptr) at->second.value = Value(*now + *later);
      at->second.time_us = std::max(at->second.time_us, attribute.time_us);
    }
    std::move(part.damage.begin(), part.damage.end(), std::back_inserter(out.damage));
    out.heartbeat_us = std::max(out.heartbeat_us, part.heartbeat_us);
    out.attributes_damaged += part.attributes_damaged;
    if (part.step_max) out.step_max = std::max(out.step_max.value_or(*part.step_max), *part.step_max);
    out.points += part.points;
    out.frames += part.frames;
    out.frame_bytes += part.frame_bytes;
    if (out.identity.run.uid.is_zero()) out.identity = std::move(part.identity);
    out.left_frames_files += out.frames_file ? 1 : 0;
    out.frames_file = part.frames_file;
    if (part.last_seq == 0) return;  // a part without its state frames yet
    out.last_seq = std::max(out.last_seq, part.last_seq);
    out.durable_seq = std::max(out.durable_seq, part.durable_seq);
    out.attributes = std::move(state);
    out.positions = std::move(part.positions);
    if (!part.cost.is_null()) out.cost = std::move(part.cost);
    if (part.end) out.end = std::move(part.end);
    out.recovered = std::move(part.recovered);  // a writer that continued is alive, whatever an earlier part has
  }

  Result<WriterSnapshot> snapshot() {
    if (is_one_file()) return parts[0].reader->snapshot();
    United all;
    std::vector<WriterSnapshot> snapshots(parts.size());
    std::vector<Status> unread(parts.size());
    uint64_t up_to = UINT64_MAX;
    for (size_t i = parts.size(); i-- > 0;) {
      unread[i] = parts[i].status;
      if (!parts[i].reader) continue;
      auto taken = parts[i].reader->snapshot(up_to);
      unread[i] = taken.ok() ? check(parts[i].file, taken->identity) : taken.status();
      if (!unread[i].ok() && !is_lost(unread[i])) return unread[i];
      if (!unread[i].ok()) continue;
      snapshots[i] = std::move(*taken);
      if (snapshots[i].last_seq > 0) up_to = before(*parts[i].reader, up_to);
    }
    if (std::none_of(unread.begin(), unread.end(), [](const Status& each) { return each.ok(); })) return unread[0];
    for (size_t i = 0; i < parts.size(); ++i)
      if (unread[i].ok()) unite(std::move(snapshots[i]), &all);
    complete(unread, &all);
    return std::move(all.out);
  }

  void complete(const std::vector<Status>& unread, United* all) const {
    WriterSnapshot& out = all->out;
    out.identity.part = 1;
    out.identity.before = {};
    out.parts = parts.back().file.number;
    for (auto& [key, attribute] : all->counted) out.attributes.push_back(std::move(attribute));
    const PartsBefore& missing = out.missing;
    if (missing.points + missing.dropped > 0)
      all->losses[{0, LossReason::kFileChanged}] += missing.points + missing.dropped;
    if (missing.texts > 0) all->losses[{kTextLosses, LossReason::kFileChanged}] += missing.texts;
    for (const auto& [key, count] : all->losses) out.losses.push_back({key.first, key.second, count});
    put_series(std::move(all->series), &out);
    const bool all_read = std::all_of(unread.begin(), unread.end(), [](const Status& each) { return each.ok(); });
    if (std::string line = text_of_missing(unread, missing); !line.empty())
      out.damage.push_back({all_read ? Code::kOk : Code::kCorrupt, std::move(line)});
  }

  // What is missing, in one line; empty if nothing is.
  std::string text_of_missing(const std::vector<Status>& unread, const PartsBefore& missing) const {
    std::string out, numbers;
    for (int number = 1, i = 0; number < parts.back().file.number; ++number) {
      if (parts[static_cast<size_t>(i)].file.number == number) ++i;
      else numbers += fmt::format("{}{}", numbers.empty() ? "" : ", ", number);
    }
    const std::string name = first_path.substr(0, first_path.rfind('.'));  // of both kinds of files
    if (!numbers.empty()) out = fmt::format("{}: part {} of {} is missing", name, numbers, out_of());
    for (const Status& status : unread)
      if (!status.ok()) out += (out.empty() ? "" : "; ") + status.message();
    if (out.empty() && missing.points + missing.texts + missing.dropped == 0) return "";
    if (out.empty()) out = fmt::format("{}: some of what its parts stored is missing", name);
    return fmt::format("{}; counted as lost: {}", out, counted_text({missing.points, missing.texts}));
  }
  int out_of() const { return parts.back().file.number; }
};

WriterReader::WriterReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WriterReader::~WriterReader() = default;
const std::string& WriterReader::path() const {
  const Impl::Part& first = impl_->parts.front();
  return first.reader ? first.reader->path() : first.file.path;
}
const WriterIdentity& WriterReader::identity() const { return impl_->identity; }

Result<std::unique_ptr<WriterReader>> WriterReader::open(const std::string& path, std::string* notice) {
  auto impl = std::make_unique<Impl>();
  impl->first_path = first_part_path(absolute_path(path));
  impl->notice = notice;
  TRACKER_RETURN_IF_ERROR(impl->list());
  impl->notice = nullptr;
  for (const PartReader* reader : impl->readable())
    if (impl->identity.run.uid.is_zero()) impl->identity = reader->identity();
  impl->identity.part = 1;
  impl->identity.before = {};
  return std::unique_ptr<WriterReader>(new WriterReader(std::move(impl)));
}

Result<WriterSnapshot> WriterReader::snapshot() {
  TRACKER_RETURN_IF_ERROR(impl_->list());
  return impl_->snapshot();
}

Result<LogPosition> WriterReader::place_of(uint64_t seq) {
  TRACKER_RETURN_IF_ERROR(impl_->list());
  if (impl_->is_one_file()) return impl_->parts[0].reader->place_of(seq);
  auto places = impl_->places();
  if (!places.ok()) return places.status();
  LogPosition last;
  for (const Impl::Place& part : *places) {
    if (seq <= part.begin.seq) break;
    last = part.end;
    if (seq >= part.end.seq) continue;
    auto place = part.reader->place_of(seq);
    if (!place.ok()) return place.status();
    return LogPosition{std::max(part.begin.seq, place->seq), part.begin.points + place->points};
  }
  return last;
}

Result<std::unique_ptr<LogIndex>> WriterReader::log_index() {
  TRACKER_RETURN_IF_ERROR(impl_->list());
  const std::vector<PartReader*> readers = impl_->readable();
  std::vector<std::string> paths;
  std::vector<Sqlite> dbs;
  std::vector<LogPosition> begins;
  uint64_t last_seq = 0;
  for (PartReader* reader : readers) {
    if (reader->is_frames() || Impl::before(*reader, UINT64_MAX) < last_seq) return std::unique_ptr<LogIndex>();
    auto db = reader->connect();
    if (!db.ok()) return db.status();
    TRACKER_RETURN_IF_ERROR(db->exec(kLookCache));
    paths.push_back(reader->path());
    dbs.push_back(std::move(*db));
    begins.push_back(impl_->is_one_file() ? LogPosition() : Impl::begin_of(reader->identity()));
    if (readers.size() == 1) break;
    auto end = reader->end_of_log();
    if (!end.ok()) return end.status();
    last_seq = std::max(last_seq, end->seq);
  }
  return std::make_unique<LogIndex>(std::move(paths), std::move(dbs), std::move(begins), &impl_->memory);
}

Status WriterReader::read(LogPosition* at, const LogPosition& end, LogVisitor* visitor,
                          std::vector<LogDamage>* damage) {
  TRACKER_RETURN_IF_ERROR(impl_->list());
  if (impl_->is_one_file()) return impl_->parts[0].reader->read(at, end, visitor, damage);
  auto places = impl_->places();
  if (!places.ok()) return places.status();
  StopVisitor stops(visitor);
  for (const Impl::Place& part : *places) {
    if (stops.stopped() || part.begin.seq >= end.seq) return {};
    if (*at >= part.end) continue;
    const bool all = part.end.seq <= end.seq;
    LogPosition within = part.within(*at);
    const Status status = part.reader->read(&within, part.within(all ? part.end : end), &stops, damage);
    *at = {std::max({at->seq, part.begin.seq, within.seq}), part.begin.points + within.points};
    TRACKER_RETURN_IF_ERROR(status);
    if (all && !stops.stopped()) *at = part.end;
  }
  return {};
}

}  // namespace tracker::internal
