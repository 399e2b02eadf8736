// SPDX-License-Identifier: MIT
#include "exchange/live_events.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "exchange/event_file.h"
#include "exchange/tensorboard_events.h"
#include "exchange/wire.h"
#include "model/key.h"
#include "query/tail/tail_events.h"

namespace tracker::internal {
namespace {

// A field of the message Event, whose own fields go to 10: readers ignore unknown ones.
constexpr uint32_t kMarkField = 1000;

bool may_lock(int fd) {
  struct flock whole{};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  // a file system without locks: there is one writer
  return ::fcntl(fd, F_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

}  // namespace

std::string LiveEvents::path_of(const std::string& folder, const RunView& run) {
  const RunIdentity& who = run.identity();
  const std::string own = join_path(join_path(folder, folder_name(who.project)), folder_name(who.id));
  return join_path(
      own, fmt::format("events.out.tfevents.{:010}.tracker.{}.live", run.created_us() / 1'000'000, who.uid.hex()));
}

Status LiveEvents::follow(const std::string& path, RunView* run, const std::function<bool()>& go_on) {
  if (!fd_) TRACKER_RETURN_IF_ERROR(open(path));
  TRACKER_RETURN_IF_ERROR(keep_open());
  TRACKER_RETURN_IF_ERROR(is_there());
  TailQuery query;
  query.rows_max = kLiveEventsRows;
  if (!has_cursor_) cursor_ = tail_begin(*run, query);
  if (size_ == 0) TRACKER_RETURN_IF_ERROR(begin(*run));
  if (!has_config_ && run->config().as_map() != nullptr && !run->config().as_map()->empty()) {
    std::string bytes;
    append_config_event(run->config(), event_seconds(run->created_us()), &bytes);
    has_config_ = true;
    if (Status status = write(std::move(bytes)); !status.ok()) return has_config_ = false, status;
  }
  // The rows of earlier attempts come before the event that this one continues at another step.
  if (attempt_ < plan_.attempt) {
    query.takes = [this](const WriterIdentity& writer) {
      return writer.rank == plan_.rank && writer.attempt < plan_.attempt;
    };
    TRACKER_RETURN_IF_ERROR(follow_writers(query, run, go_on));
    if (!go_on()) return {};
    std::string bytes;
    if (plan_.resume_step && *plan_.resume_step < INT64_MAX)
      append_start_event(*plan_.resume_step + 1, event_seconds(realtime_us()), &bytes);
    const int64_t before = std::exchange(attempt_, plan_.attempt);
    if (Status status = write(std::move(bytes)); !status.ok()) return attempt_ = before, status;
  }
  query.takes = [this](const WriterIdentity& writer) { return writer.rank == plan_.rank; };
  return follow_writers(query, run, go_on);
}

Status LiveEvents::open(const std::string& path) {
  if (!path_.empty()) return Status(Code::kNotFound, path_ + " was removed");  // it had been open
  TRACKER_RETURN_IF_ERROR(make_dirs(parent_path(path)));
  auto fd = open_file(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0666);
  if (!fd.ok()) return fd.status();
  const Status busy(Code::kBusy, path + " is written by another process");
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0 || !S_ISREG(info.st_mode)) return Status(Code::kInvalid, path + " is no file");
  if (!may_lock(fd->get())) return busy;
  TRACKER_RETURN_IF_ERROR(read_marks(path));
  // Reading has opened and closed the file, which released the lock.
  if (!may_lock(fd->get())) return busy;
  // After the last mark are rows of a write that a killed process could not complete: they will be written again.
  if (::ftruncate(fd->get(), static_cast<off_t>(size_)) != 0) return Status::from_errno(errno, "cannot cut", path);
  fd_ = GuardedFd(std::move(*fd));
  path_ = path;
  return {};
}

// If other code of the process has closed the descriptor, open the file by its name and continue at its end: the lock
// was lost with the descriptor, so rows that another process has added meanwhile are read first.
Status LiveEvents::keep_open() {
  if (fd_.is_ours()) return {};
  auto fd = open_file(path_, O_WRONLY | O_NOFOLLOW | O_NONBLOCK, 0);
  if (!fd.ok() && fd.status().code() != Code::kNotFound) return fd.status();
  GuardedFd again(fd.ok() ? std::move(*fd) : Fd());
  if (!again || again.file() != fd_.file()) return Status(Code::kNotFound, path_ + " was removed");
  const Status busy(Code::kBusy, path_ + " is written by another process");
  if (!may_lock(again.get())) return busy;
  struct stat info{};
  if (::fstat(again.get(), &info) != 0) return Status::from_errno(errno, "cannot read", path_);
  if (static_cast<uint64_t>(info.st_size) != size_) {
    TRACKER_RETURN_IF_ERROR(read_marks(path_));
    if (!may_lock(again.get())) return busy;
    if (::ftruncate(again.get(), static_cast<off_t>(size_)) != 0) return Status::from_errno(errno, "cannot cut", path_);
  }
  fd_ = std::move(again);
  return {};
}

Status LiveEvents::read_marks(const std::string& path) {
  size_ = 0;
  auto file = EventFile::open(path);
  if (!file.ok()) return file.status();
  for (std::string_view record;;) {
    auto got = file->next(&record);
    if (!got.ok() && got.status().code() != Code::kCorrupt) return got.status();
    if (!got.ok() || !*got) return {};
    if (read_mark(record)) size_ = file->offset();
  }
}

bool LiveEvents::read_mark(std::string_view record) {
  WireReader event(record);
  WireField field, part;
  bool found = false;
  while (event.next(&field)) {
    if (!field.is(kMarkField, WireType::kBytes)) continue;
    WireReader mark(field.bytes);
    while (mark.next(&part)) {
      if (part.is(1, WireType::kBytes)) {
        auto cursor = TailCursor::parse(part.bytes);
        if (!cursor.ok()) return false;
        cursor_ = std::move(*cursor);
        found = has_cursor_ = true;
      }
      if (part.is(2, WireType::kVarint)) has_config_ = part.value != 0;
      if (part.is(3, WireType::kVarint)) attempt_ = static_cast<int64_t>(part.value);
    }
  }
  return found;
}

// A folder that was removed is not made again.
Status LiveEvents::is_there() const {
  struct stat own{}, named{};
  if (::fstat(fd_.get(), &own) == 0 && ::stat(path_.c_str(), &named) == 0 && own.st_ino == named.st_ino &&
      own.st_dev == named.st_dev)
    return {};
  return Status(Code::kNotFound, path_ + " was removed");
}

Status LiveEvents::begin(const RunView& run) {
  std::string bytes;
  append_event_header(event_seconds(run.created_us()), &bytes);
  append_start_event(0, event_seconds(run.created_us()), &bytes);
  has_config_ = false;
  attempt_ = 0;
  return write(std::move(bytes));
}

Status LiveEvents::follow_writers(const TailQuery& query, RunView* run, const std::function<bool()>& go_on) {
  for (bool more = true; more && go_on();) {
    TailCursor next = cursor_;
    auto batch = read_tail(run, query, &next);
    if (!batch.ok()) return batch.status();
    more = batch->more;
    if (next == cursor_) continue;
    auto texts = read_tail_events(run, {{}, true, false, false}, cursor_, next);
    if (!texts.ok()) return texts.status();
    std::string bytes;
    add_rows(*batch, &bytes);
    for (const TailedEvent& text : *texts)
      if (text.value.as_text() != nullptr)
        append_text_event(text.key, *text.value.as_text(), text.has_step ? text.step : 0, event_seconds(text.time_us),
                          &bytes);
    std::swap(cursor_, next);
    // Frames without rows for this file (heartbeats, samples of the system) are skipped without a mark for each.
    if (bytes.empty()) continue;
    if (Status status = write(std::move(bytes)); !status.ok()) {
      std::swap(cursor_, next);
      return status;
    }
  }
  return {};
}

void LiveEvents::add_rows(const TailBatch& batch, std::string* out) const {
  for (const TailedMetric& metric : batch.metrics) {
    const History& rows = metric.rows;
    for (size_t i = 0; i < rows.size(); ++i)
      append_number_event(metric.name, rows.row_type(i), rows.row_bits(i), rows.row_has_step(i) ? rows.steps[i] : 0,
                          event_seconds(rows.times_us[i]), out);
  }
}

// Appends the bytes with their mark in one write; a failed write leaves nothing.
Status LiveEvents::write(std::string bytes) {
  std::string mark, event;
  wire_bytes(1, cursor_.token(), &mark);
  wire_varint(2, has_config_ ? 1 : 0, &mark);
  wire_varint(3, static_cast<uint64_t>(attempt_), &mark);
  wire_fixed64(1, bits_of(event_seconds(realtime_us())), &event);
  wire_bytes(kMarkField, mark, &event);
  append_event_record(event, &bytes);
  if (size_ + bytes.size() > plan_.bytes_max)
    return Status(Code::kLimit, fmt::format("{} has reached its bound of {} MiB", path_, plan_.bytes_max >> 20));
  if (!fd_.is_ours()) return Status(Code::kIo, path_ + " was closed by other code of this process");
  if (::lseek(fd_.get(), static_cast<off_t>(size_), SEEK_SET) < 0)
    return Status::from_errno(errno, "cannot seek", path_);
  if (const Status status = write_all(fd_.get(), bytes); !status.ok()) {
    if (fd_.is_ours()) (void)!::ftruncate(fd_.get(), static_cast<off_t>(size_));
    return Status(status.code(), path_ + ": " + status.message());
  }
  size_ += bytes.size();
  has_cursor_ = true;
  return {};
}

}  // namespace tracker::internal
