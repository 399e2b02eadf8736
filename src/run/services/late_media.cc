// SPDX-License-Identifier: MIT
#include "run/services/late_media.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <thread>
#include <utility>

#include "base/clock.h"
#include "journal/liveness.h"
#include "model/key.h"
#include "model/media.h"
#include "query/media.h"
#include "run/run.h"
#include "storage/frames/database_build.h"
#include "storage/store/run_folder.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {
namespace {

// Its process adds nothing any more, and what it had logged is in its database: the frames of its journal are numbered
// behind those of the database, so nothing may come in between.
bool is_dead_and_recovered(const WriterSnapshot& writer, const std::string& store_path) {
  if (!find_journal(writer.identity, store_path).empty()) return false;
  const Liveness alive = probe_writer(writer.identity, store_path);
  return alive == Liveness::kDead || (alive == Liveness::kUnknown && (writer.end || writer.recovered));
}

Value account_with(const Value* before, const std::map<std::string, uint64_t>& dropped) {
  Value out = before != nullptr && before->is_map() ? *before : Value::map();
  const Value* known = out.find("reasons");
  Value reasons = known != nullptr && known->is_map() ? *known : Value::map();
  int64_t all = out.int_or("dropped", 0);
  for (const auto& [reason, n] : dropped) {
    reasons.set(reason, reasons.int_or(reason, 0) + static_cast<int64_t>(n));
    all += static_cast<int64_t>(n);
  }
  out.set("dropped", all);
  out.set("reasons", std::move(reasons));
  return out;
}

}  // namespace

LateMedia::LateMedia(RunFolder folder, std::unique_ptr<RunView> view, SpoolLock lock,
                     std::vector<SpooledMedium> waiting)
    : folder_(std::move(folder)), view_(std::move(view)), lock_(std::move(lock)), waiting_(std::move(waiting)) {}

LateMedia::~LateMedia() = default;

Result<std::unique_ptr<LateMedia>> LateMedia::open(const RunFolder& folder) {
  std::unique_ptr<LateMedia> none;
  if (spooled_media(folder.path).empty()) return none;
  auto lock = SpoolLock::take(folder.path);
  if (!lock.ok()) return lock.status();
  build_ended_frames(folder.path);
  auto view = RunView::open(folder);  // behind the lock: what another one has committed is in it
  if (!view.ok()) return view.status();
  const std::string store_path = store_path_of(folder.path);
  std::vector<SpooledMedium> waiting = spooled_media(folder.path);
  const auto& writers = (*view)->writers();
  std::erase_if(waiting, [&](const SpooledMedium& each) {
    return std::none_of(writers.begin(), writers.end(), [&](const WriterSnapshot& writer) {
      return writer.identity.writer == each.writer && !writer.frames_file && is_dead_and_recovered(writer, store_path);
    });
  });
  std::unique_ptr<LateMedia> out(new LateMedia(folder, std::move(*view), std::move(*lock), std::move(waiting)));
  if (out->waiting_.empty()) return none;
  return out;
}

const WriterSnapshot* LateMedia::snapshot_of(const Id128& writer) const {
  for (const WriterSnapshot& each : view_->writers())
    if (each.identity.writer == writer) return &each;
  return nullptr;
}

Result<bool> LateMedia::is_stored(const MediumPlace& place) {
  TRACKER_RETURN_IF_ERROR(check_key(place.key));
  if (!stored_) {
    const auto rows = read_media(view_.get(), "", true);
    if (!rows.ok()) return rows.status();
    stored_.emplace();
    for (const MediaRow& row : *rows)
      stored_->insert({row.name, row.step, row.call, row.time_us, row.value.int_or("index", 0)});
  }
  return stored_->contains(place);
}

Result<MediaFile> LateMedia::store(std::string_view bytes, std::string_view extension) {
  return MediaFolder(folder_.path).store(bytes, extension);
}

Status LateMedia::add(const Id128& writer, const MediumPlace& place, Value value) {
  uint64_t redacted = 0;
  redact_medium(place.key, &value, &redacted);
  std::string payload = medium_payload(place.key, place.call, place.time_us, std::move(value));
  if (payload.size() > kMediaDescriptionBytesMax)
    return Status(Code::kLimit, fmt::format("what is said of it takes {} bytes; at most {}", payload.size(),
                                            kMediaDescriptionBytesMax));
  // An event that nobody can decode would be neither stored nor counted.
  if (const auto readable = decode_cbor(payload); !readable.ok())
    return Status(Code::kInvalid, "what is said of it is nested too deep");
  held_[writer].events.push_back({EventType::kMedia, true, place.step, place.time_us, std::move(payload)});
  if (stored_) stored_->insert(place);
  return {};
}

void LateMedia::drop(const Id128& writer, const std::string& reason) { ++held_[writer].dropped[reason]; }

Status LateMedia::commit() {
  while (!held_.empty()) {
    auto node = held_.extract(held_.begin());
    TRACKER_RETURN_IF_ERROR(commit(node.key(), std::move(node.mapped())));
  }
  return {};
}

Status LateMedia::commit(const Id128& writer, Held held) {
  const WriterSnapshot* snapshot = snapshot_of(writer);
  if (snapshot == nullptr) return Status(Code::kNotFound, "the run has no process " + writer.hex());
  if (!held.dropped.empty()) {
    const Value* account = nullptr;
    for (const Attribute& attribute : snapshot->attributes)
      if (attribute.type == EventType::kAttribute && attribute.key == kMediaAccountKey) account = &attribute.value;
    const Value payload =
        Value::Map{{"key", std::string(kMediaAccountKey)}, {"value", account_with(account, held.dropped)}};
    held.events.push_back({EventType::kAttribute, false, 0, realtime_us(), encode_cbor(payload)});
  }
  const StoreFilesChoice files = choose_store_files(folder_.path, store_files_option());
  auto db = open_writer_store(folder_.path, snapshot->identity, files.kind);
  if (!db.ok()) return db.status();
  (*db)->for_the_dead();
  std::vector<FrameRecord> records;
  Frame frame;
  size_t bytes = 0;
  uint64_t seq = (*db)->last_seq();
  const auto end_frame = [&] {
    if (frame.empty()) return;
    frame.writer = writer;
    frame.seq = ++seq;
    records.push_back({seq, encode_frame(frame), {}});
    frame = Frame();
    bytes = 0;
  };
  for (Event& event : held.events) {
    bytes += event.payload.size();
    frame.events.push_back(std::move(event));
    if (bytes >= kLateFrameBytes) end_frame();
  }
  end_frame();
  TRACKER_RETURN_IF_ERROR((*db)->append(records, true));
  const Status finished = (*db)->finish();
  // A reader that holds a transaction keeps the WAL; everything is committed and fsynced all the same.
  TRACKER_RETURN_IF_ERROR(finished.code() == Code::kBusy || finished.code() == Code::kTimeout ? Status() : finished);
  return view_->refresh();
}

}  // namespace tracker::internal
