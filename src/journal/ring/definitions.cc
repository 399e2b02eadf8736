// SPDX-License-Identifier: MIT
#include "journal/ring/definitions.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/write_signals.h"

namespace tracker::internal {
namespace {

enum Kind : uint8_t { kIdentity = 1, kSeries = 2, kEnd = 3 };

constexpr uint64_t kRoomStep = 4096;  // what tmpfs gives at once

// u32 length of the body | u32 crc32c(body) | body: u8 kind, then the rest.
std::string framed(std::string_view body) {
  ByteWriter out;
  out.u32(static_cast<uint32_t>(body.size()));
  out.u32(crc32c(body));
  out.bytes(body);
  return out.take();
}

}  // namespace

Result<DefinitionsFile> DefinitionsFile::create(const std::string& path, const WriterIdentity& identity) {
  const NoWriteSignals guard;
  auto fd = open_file(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0600);
  if (!fd.ok()) return fd.status();
  std::string body(1, static_cast<char>(kIdentity));
  body += encode_cbor(identity.to_value());
  const std::string start = std::string(kDefinitionsMagic) + framed(body);
  DefinitionsFile file(std::move(*fd));
  TRACKER_RETURN_IF_ERROR(file.keep_room(start.size()));
  TRACKER_RETURN_IF_ERROR(write_all(file.fd_.get(), start));
  return file;
}

// So many bytes and those of the end have their place. Where a file system cannot promise that, none is kept.
Status DefinitionsFile::keep_room(uint64_t bytes) {
  const uint64_t wanted = bytes + kEndReserve;
  if (wanted <= room_) return {};
  const uint64_t room = (wanted + kRoomStep - 1) / kRoomStep * kRoomStep;
  int error = 0;
  do {
    error = ::fallocate(fd_.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(room)) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == ENOSPC || error == EDQUOT)
    return Status::from_errno(error, "the journal has no room for", "more definitions");
  if (error != EFBIG) room_ = room;  // a limit may be lifted: asked for again
  return {};
}

Status DefinitionsFile::append(const SeriesDef& series, uint64_t bytes_max) {
  ByteWriter body;
  body.u8(kSeries);
  body.u32(series.id);
  body.u8(static_cast<uint8_t>(series.type));
  body.bytes(series.name);
  const std::string record = framed(body.buffer());
  const NoWriteSignals guard;
  if (!fd_.is_ours()) return Status(Code::kIo, "somebody closed the descriptor of the definitions file");
  // One write: a process that dies in it leaves a torn tail, and the id was not used yet.
  const off_t before = ::lseek(fd_.get(), 0, SEEK_END);
  if (static_cast<uint64_t>(before) + record.size() > bytes_max)
    return Status(Code::kLimit, "the journal has no room for more definitions");
  TRACKER_RETURN_IF_ERROR(keep_room(static_cast<uint64_t>(before) + record.size()));
  return append_record(record, static_cast<uint64_t>(before));
}

Status DefinitionsFile::append_end(const JournalEnd& end) {
  ByteWriter body;
  body.u8(kEnd);
  body.i64(end.time_us);
  body.u64(end.texts);
  body.bytes(end.payload);
  const NoWriteSignals guard;
  if (!fd_.is_ours()) return Status(Code::kIo, "somebody closed the descriptor of the definitions file");
  return append_record(framed(body.buffer()), static_cast<uint64_t>(::lseek(fd_.get(), 0, SEEK_END)));
}

// What is cut off goes back to the file system, the room for the end too, which is then asked for again: others may
// have taken it meanwhile. So a record that a limit of file sizes would tear is not begun, and of one that left nothing
// in the file nothing is cut off.
Status DefinitionsFile::append_record(const std::string& record, uint64_t before) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && before + record.size() > limit.rlim_cur)
    return Status::from_errno(EFBIG, "cannot write", "more definitions");
  const Status status = write_all(fd_.get(), record);
  if (status.ok()) return status;
  struct stat st;
  if (::fstat(fd_.get(), &st) == 0 && static_cast<uint64_t>(st.st_size) == before) return status;
  if (::ftruncate(fd_.get(), static_cast<off_t>(before)) != 0) return status;
  room_ = before;
  (void)keep_room(before);
  return status;
}

bool DefinitionsFile::still_linked() const {
  struct stat st;
  return fd_.is_ours() && ::fstat(fd_.get(), &st) == 0 && st.st_nlink > 0;
}

namespace {

constexpr char kNewestVersion = '1' + kDefinitionsVersionsAhead;

// The records from `at` on; the first that does not verify ends them.
Status read_records(std::string_view bytes, size_t at, Definitions* out, bool* have_identity) {
  ByteReader in(bytes.substr(at));
  while (!in.at_end()) {
    const uint32_t length = in.u32();
    const uint32_t crc = in.u32();
    const std::string_view body = in.bytes(length);
    if (!in.ok() || body.empty() || crc32c(body) != crc) {
      out->torn_tail = true;
      break;
    }
    ByteReader record(body.substr(1));
    if (body[0] == kIdentity) {
      auto value = decode_cbor(body.substr(1));
      if (!value.ok()) return value.status();
      auto identity = WriterIdentity::from_value(*value);
      if (!identity.ok()) return identity.status();
      out->identity = *identity;
      *have_identity = true;
    } else if (body[0] == kSeries) {
      SeriesDef series;
      series.id = record.u32();
      const uint8_t type = record.u8();
      series.name = std::string(record.bytes(record.remaining()));
      if (!record.ok() || !is_value_type(type) || series.id != out->series.size() + 1)
        return Status(Code::kCorrupt,
                      fmt::format("definitions file: bad series record before byte {}", in.offset() + at));
      series.type = static_cast<ValueType>(type);
      out->series.push_back(std::move(series));
    } else if (body[0] == kEnd) {
      JournalEnd end;
      end.time_us = record.i64();
      end.texts = record.u64();
      end.payload = std::string(record.bytes(record.remaining()));
      if (record.ok()) out->end = std::move(end);
    }  // other kinds come from later versions and are skipped
  }
  return {};
}

// Where the record of series 1 begins, whatever is before it; the end of `bytes` where there is none.
size_t find_first_series(std::string_view bytes) {
  for (size_t at = 0; at < bytes.size(); ++at) {
    ByteReader in(bytes.substr(at));
    const uint32_t length = in.u32();
    const uint32_t crc = in.u32();
    if (length > kSeriesRecordBytesMax) continue;
    const std::string_view body = in.bytes(length);
    if (!in.ok() || body.empty() || body[0] != kSeries || ByteReader(body.substr(1)).u32() != 1) continue;
    if (crc32c(body) == crc) return at;
  }
  return bytes.size();
}

}  // namespace

Result<Definitions> parse_definitions(std::string_view bytes) {
  const size_t magic = kDefinitionsMagic.size();
  if (bytes.starts_with("TRKDEFS1")) return Status(Code::kVersion, std::string(kUnreleasedState));
  if (bytes.size() < magic || bytes.substr(0, 7) != kDefinitionsMagic.substr(0, 7))
    return Status(Code::kCorrupt, "not a definitions file: bad magic at byte 0");
  if (bytes[7] > kDefinitionsMagic[7] && bytes[7] <= kNewestVersion)
    return Status(Code::kVersion, fmt::format("definitions file of version '{}', this library reads 1", bytes[7]),
                  "update tracker; what waits in this journal is stored then");
  if (bytes[7] != kDefinitionsMagic[7]) return Status(Code::kCorrupt, "definitions file: bad version at byte 7");
  Definitions out;
  bool have_identity = false;
  TRACKER_RETURN_IF_ERROR(read_records(bytes, magic, &out, &have_identity));
  if (!have_identity) return Status(Code::kCorrupt, "definitions file without a writer's identity");
  return out;
}

Definitions salvage_definitions(std::string_view bytes, const WriterIdentity& writer) {
  Definitions out;
  bool have_identity = false;
  const Status read = read_records(bytes, find_first_series(bytes), &out, &have_identity);
  out.torn_tail = out.torn_tail || !read.ok();
  out.identity = writer;
  out.salvaged = true;
  return out;
}

Result<Definitions> read_definitions(const std::string& dir) {
  const std::string path = join_path(dir, "defs");
  auto bytes = read_file(path, kDefinitionsBytesMax);
  if (!bytes.ok()) return bytes.status();
  auto parsed = parse_definitions(*bytes);
  if (!parsed.ok())
    return Status(parsed.status().code(), path + ": " + parsed.status().message(), parsed.status().hint());
  return parsed;
}

Result<WriterIdentity> read_writer_identity(const std::string& dir) {
  const auto start = read_file_start(join_path(dir, "defs"), kIdentityLookBytes);
  if (!start.ok()) return start.status();
  if (auto parsed = parse_definitions(*start); parsed.ok()) return parsed->identity;
  auto whole = read_definitions(dir);  // a long identity, or a damaged file, which is named as it is elsewhere
  if (!whole.ok()) return whole.status();
  return whole->identity;
}

}  // namespace tracker::internal
