// SPDX-License-Identifier: MIT
#include "storage/frames/frames_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/bytes.h"

namespace tracker::internal {
namespace {

using MaybeView = Result<std::optional<FrameView>>;

MaybeView add_frame(const Id128& writer, const FramesEntry& entry, FramesTotals* totals) {
  auto body = read_frame_body(entry.body);
  if (!body.ok()) return body.status();
  auto view = FrameView::parse(body->frame);
  if (!view.ok()) return view.status();
  if (view->writer() != writer) return Status(Code::kCorrupt, "frame of writer " + view->writer().hex());
  if (view->seq() <= totals->last_seq) return std::optional<FrameView>();
  totals->last_seq = view->seq();
  totals->points += view->points();
  totals->frames += 1;
  totals->frame_bytes += body->frame.size();
  for (const RingPosition& position : body->positions) set_position(position, &totals->positions);
  return std::optional<FrameView>(std::move(*view));
}

Status add_identity(const Id128& writer, const FramesEntry& entry, FramesTotals* totals) {
  auto value = decode_cbor(entry.body);
  if (!value.ok()) return value.status();
  auto identity = WriterIdentity::from_value(*value);
  if (!identity.ok()) return identity.status();
  if (identity->writer != writer) return Status(Code::kCorrupt, "identity of writer " + identity->writer.hex());
  totals->heartbeat_us = std::max(totals->heartbeat_us, identity->started_us);
  totals->identity = std::move(*identity);
  return {};
}

}  // namespace

MaybeView add_entry(const Id128& writer, const FramesEntry& entry, FramesTotals* totals) {
  switch (entry.kind) {
    case FramesKind::kFrame: return add_frame(writer, entry, totals);
    case FramesKind::kIdentity: TRACKER_RETURN_IF_ERROR(add_identity(writer, entry, totals)); break;
    case FramesKind::kHeartbeat: {
      ByteReader in(entry.body);
      const int64_t time_us = in.i64();
      if (!in.ok()) return Status(Code::kCorrupt, "a heartbeat that is cut");
      totals->heartbeat_us = std::max(totals->heartbeat_us, time_us);
      break;
    }
    case FramesKind::kRetired: {
      auto nonces = read_retired_body(entry.body);
      if (!nonces.ok()) return nonces.status();
      drop_positions(*nonces, &totals->positions);
      break;
    }
    default:
      if (entry.kind < FramesKind::kSkippable)
        return Status(Code::kVersion, fmt::format("record kind {} at byte {} is of a newer version",
                                                  static_cast<uint32_t>(entry.kind), entry.offset));
  }
  return std::optional<FrameView>();
}

Result<FramesInput> open_frames(const std::string& path, int flags) {
  if ((flags & O_ACCMODE) != O_RDONLY) flags |= O_NOFOLLOW;
  auto fd = open_file(path, flags | O_NONBLOCK);  // opening a pipe would block
  if (!fd.ok()) return fd.status();
  struct stat st{};
  if (::fstat(fd->get(), &st) != 0) return Status::from_errno(errno, "cannot stat", path);
  if (!S_ISREG(st.st_mode)) return Status(Code::kCorrupt, fmt::format("{} is no regular file", path));
  FramesInput out{std::move(*fd), static_cast<uint64_t>(st.st_size), st.st_ino, {}};
  FileBytes bytes(out.fd.get(), std::min<uint64_t>(out.size, kFramesHeaderBytes));
  auto header = bytes.view(0, kFramesHeaderBytes);
  if (!header.ok()) return header.status();
  auto writer = read_frames_header(*header);
  if (!writer.ok())
    return Status(writer.status().code(), fmt::format("{}: {}", path, writer.status().message()),
                  writer.status().hint());
  out.writer = *writer;
  return out;
}

}  // namespace tracker::internal
