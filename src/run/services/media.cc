// SPDX-License-Identifier: MIT
// Media of a run: the account of them, their files, and the events that name those (model/media.h).
#include <fmt/format.h>

#include "base/clock.h"
#include "journal/live/journal.h"
#include "journal/ring/ring_room.h"
#include "model/media.h"
#include "model/redact/payloads.h"
#include "model/redact/redact.h"
#include "model/redact/secret_names.h"
#include "run/run_impl.h"
#include "run/services/media_folder.h"

namespace tracker::internal {
namespace {

constexpr size_t kMediaReasonsMax = 16;

Value count(uint64_t n) { return static_cast<int64_t>(n); }

Status no_room_status(DiskRoom room) {
  return room != DiskRoom::kEnough ? Status(Code::kLimit, "the store has reached max_disk")
                                   : Status(Code::kLimit, "more is logged than can be stored in time");
}

}  // namespace

bool Run::takes_media() const { return impl_->writer != nullptr && !impl_->forked() && !impl_->observed(); }

// Through the ring, like config: what dies with the process is missed by it.
void Run::note_media() {
  Value reasons = Value::map();
  MediaCounts now;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    now = impl_->media;
    for (const auto& [why, n] : impl_->media_reasons) reasons.set(why, count(n));
  }
  Value account = Value::Map{{"logged", count(now.logged)}, {"dropped", count(now.dropped)}};
  if (!reasons.as_map()->empty()) account.set("reasons", std::move(reasons));
  (void)set_attribute(kMediaAccountKey, std::move(account));
}

Code Run::begin_media(std::string_view key, int64_t step, uint64_t values) {
  if (!takes_media()) {
    if (hot_->alive == 0) (void)log_event(EventType::kMedia, Value(), step, true);  // says what a forked child is
    return Code::kClosed;
  }
  if (const Status status = check_key(key); !status.ok()) {
    count_rejected(key, status.message());
    return Code::kInvalid;
  }
  const bool ended = finished();
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->media.logged += values;
  }
  if (ended) {
    drop_media(key, "after finish", "the run has ended", values);
    return Code::kClosed;
  }
  if (const JournalUse use(hot_); use.get() != nullptr) use.get()->raise_step(step);
  note_media();
  return Code::kOk;
}

void Run::drop_media(std::string_view key, std::string_view reason, std::string_view detail, uint64_t values) {
  if (!takes_media() || values == 0) return;
  std::string kept(reason);
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->media.dropped += values;
    auto& reasons = impl_->media_reasons;
    if (reasons.size() >= kMediaReasonsMax && reasons.count(kept) == 0) kept = "other";
    reasons[kept] += values;
  }
  impl_->warnings.warn_once("media " + kept,
                            fmt::format("'{}' is not stored: {}; such media are dropped and counted, metrics go on",
                                        key.substr(0, 80), detail));
  if (!finished()) note_media();
}

// kClosed after finish(): nothing is written into a run that has ended, by an encoder that comes late either. Where the
// store could not be written when the run began, its folder is unknown until it can be: its label may be taken.
Status Run::has_media_folder() const {
  if (!takes_media()) return Status(Code::kClosed, "nothing is recorded here");
  if (finished()) return Status(Code::kClosed, "the run has ended");
  return impl_->writer->folder() != nullptr ? Status() : impl_->plan.store_problem;
}

Result<MediaFile> Run::store_media(std::string_view bytes, std::string_view extension) {
  TRACKER_RETURN_IF_ERROR(has_media_folder());
  const MediaFolder folder(dir(), 0, [this](uint64_t n) { return impl_->writer->take_disk(n); });
  return folder.store(bytes, extension);
}

Result<MediaFile> Run::store_media_file(const ListedFile& file, std::string_view extension) {
  TRACKER_RETURN_IF_ERROR(has_media_folder());
  const MediaFolder folder(dir(), 0, [this](uint64_t n) { return impl_->writer->take_disk(n); });
  return folder.store_file(file.path, extension, &file);
}

Result<MediaFile> Run::store_media_unsynced(std::string_view head, std::string_view bytes, std::string_view extension,
                                            std::chrono::milliseconds limit) {
  TRACKER_RETURN_IF_ERROR(has_media_folder());
  const MediaFolder folder(dir(), 0, [this](uint64_t n) { return impl_->writer->take_disk(n); });
  return folder.store_unsynced(head, bytes, extension, limit);
}

void Run::sync_media(std::string_view digest, std::string_view extension) const {
  MediaFolder(dir()).sync(digest, extension);
}

std::string Run::redact_document(std::string_view text, std::string_view extension) {
  uint64_t redacted = 0;
  std::string out = internal::redact_document(text, extension, &redacted);
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  impl_->redacted += redacted;
  return out;
}

Status Run::log_media(std::string_view key, int64_t step, uint64_t call, int64_t time_us, Value value) {
  if (!takes_media()) return Status(Code::kClosed, "nothing is recorded here");
  uint64_t redacted = 0;
  redact_medium(key, &value, &redacted);
  const std::string payload = medium_payload(key, call, time_us, std::move(value));
  const Status status = log_media_payload(payload, step);
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  impl_->redacted += redacted;
  if (status.ok()) ++impl_->media.stored;
  return status;
}

Status Run::log_media_payload(const std::string& payload, int64_t step) {
  if (payload.size() > kMediaDescriptionBytesMax)
    return Status(Code::kLimit, fmt::format("what is said of it takes {} bytes; at most {}", payload.size(),
                                            kMediaDescriptionBytesMax));
  const JournalUse use(hot_);
  if (use.get() == nullptr) return Status(Code::kClosed, "the run has ended");
  const DiskRoom room = impl_->writer->disk_room();
  if (room != DiskRoom::kEnough) return no_room_status(room);
  if (payload.size() <= kRingPayloadMax) {
    const Code code = use.get()->log_event(EventType::kMedia, payload, step, true);
    if (code == Code::kOk) return {};
    if (code != Code::kUnsupported) return no_room_status(DiskRoom::kEnough);
  }
  const Code code = impl_->writer->push_large(EventType::kMedia, payload, step, true);
  return code == Code::kOk ? Status() : no_room_status(impl_->writer->disk_room());
}

Code Run::put_media(std::string_view key, int64_t step, std::string_view kind, std::string_view bytes,
                    std::string_view extension, Value description) {
  if (const Status status = check_media_kind(kind); !status.ok()) {
    count_rejected(key, status.message());
    return Code::kInvalid;
  }
  if (!is_media_extension(extension)) {
    count_rejected(key, "its extension is not one of those of media (docs/media.md)");
    return Code::kInvalid;
  }
  if (const Code code = begin_media(key, step, 1); code != Code::kOk) return code;
  const int64_t time_us = realtime_us();
  const bool is_text = extension == "html" || extension == "md" || extension == "txt";
  const bool is_document = is_text || extension == "json" || extension == "svg";
  const bool is_secret = is_text && is_secret_key(key) && !bytes.empty() && bytes != kRedacted;
  const std::string clean = is_secret ? std::string(kRedacted) : is_document ? redact_document(bytes, extension) : "";
  if (is_secret) {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    ++impl_->redacted;
  }
  const auto file = store_media(is_document ? clean : bytes, extension);
  Status status = file.status();
  if (file.ok()) {
    description.set("kind", kind);
    description.set("digest", file->digest);
    description.set("ext", file->extension);
    description.set("bytes", count(file->bytes));
    status = log_media(key, step, next_media_call(), time_us, std::move(description));
  }
  if (!status.ok()) drop_media(key, status.code() == Code::kLimit ? "no room" : "disk", status.message(), 1);
  return status.code();
}

uint64_t Run::next_media_call() {
  const std::lock_guard<std::mutex> guard(impl_->mutex);
  return ++impl_->media_calls;
}

}  // namespace tracker::internal
