// SPDX-License-Identifier: MIT
#include "storage/frames/frames_format.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/bytes.h"
#include "base/crc32c.h"

namespace tracker::internal {
namespace {

constexpr size_t kWindowBytes = 1u << 20;
constexpr size_t kHeadCrcAt = 16;
constexpr size_t kHeaderCrcAt = 28;

struct Head {
  uint32_t kind = 0;
  uint32_t body_bytes = 0;
  uint32_t body_crc = 0;
};

// The CRC includes the offset: a copy of a record elsewhere, such as in the body of another one, does not verify.
uint32_t head_crc(const Id128& writer, uint64_t offset, std::string_view head) {
  const uint32_t state = crc32c({reinterpret_cast<const char*>(&offset), sizeof offset}, crc32c(writer.view()));
  return crc32c(head.substr(0, kHeadCrcAt), state);
}

bool read_head(std::string_view bytes, const Id128& writer, uint64_t offset, Head* out) {
  if (bytes.size() < kFramesHeadBytes || !bytes.starts_with(kFramesRecordMagic)) return false;
  ByteReader in(bytes.substr(kFramesRecordMagic.size()));
  out->kind = in.u32();
  out->body_bytes = in.u32();
  out->body_crc = in.u32();
  return in.u32() == head_crc(writer, offset, bytes) && out->body_bytes <= kFramesBodyBytesMax;
}

// The next offset from `at` on with a valid head; the size of the file if there is none.
Result<uint64_t> find_head(FramesBytes& bytes, const Id128& writer, uint64_t at) {
  while (at + kFramesHeadBytes <= bytes.size()) {
    auto window = bytes.view(at, kWindowBytes);
    if (!window.ok()) return window.status();
    for (size_t i = window->find(kFramesRecordMagic); i != std::string_view::npos;
         i = window->find(kFramesRecordMagic, i + 1)) {
      Head head;
      if (read_head(window->substr(i), writer, at + i, &head)) return at + i;
    }
    if (window->size() < kFramesHeadBytes) break;
    at += window->size() - kFramesHeadBytes + 1;
  }
  return bytes.size();
}

// Bytes that do not verify are reported only if a valid record follows them: else they are a record that is not
// complete yet.
class Scan {
 public:
  Scan(FramesBytes& bytes, const Id128& writer, const FramesVisitor& visitor)
      : bytes_(bytes), writer_(writer), visitor_(visitor) {}

  Result<uint64_t> run(uint64_t from) {
    uint64_t sound_end = from;
    for (uint64_t at = from; at + kFramesHeadBytes <= bytes_.size();) {
      auto bytes = bytes_.view(at, kFramesHeadBytes);
      if (!bytes.ok()) return bytes.status();
      Head head;
      if (!read_head(*bytes, writer_, at, &head)) {
        auto next = find_head(bytes_, writer_, at + 1);
        if (!next.ok()) return next.status();
        bad_.push_back({at, *next - at, false});
        at = *next;
        continue;
      }
      const uint64_t end = at + kFramesHeadBytes + head.body_bytes;
      if (end > bytes_.size()) break;
      auto body = bytes_.view(at + kFramesHeadBytes, head.body_bytes);
      if (!body.ok()) return body.status();
      if (body->size() != head.body_bytes) break;
      if (crc32c(*body) != head.body_crc) {
        bad_.push_back({at, end - at, true});
        at = end;
        continue;
      }
      if (!bad_.empty()) {
        TRACKER_RETURN_IF_ERROR(report_bad());
        body = bytes_.view(at + kFramesHeadBytes, head.body_bytes);  // the reports have moved the window
        if (!body.ok()) return body.status();
      }
      TRACKER_RETURN_IF_ERROR(visitor_.entry({static_cast<FramesKind>(head.kind), at, *body}));
      at = sound_end = end;
    }
    return sound_end;
  }

 private:
  struct Bad {
    uint64_t offset = 0, bytes = 0;
    bool head_sound = false;
  };

  Status report_bad() {
    for (const Bad& bad : bad_) {
      FramesDamage damage{bad.offset, bad.bytes, {}};
      if (bad.head_sound) {
        auto body = bytes_.view(bad.offset + kFramesHeadBytes, bad.bytes - kFramesHeadBytes);
        if (!body.ok()) return body.status();
        damage.body = *body;
      }
      if (visitor_.damage) visitor_.damage(damage);
    }
    bad_.clear();
    return {};
  }

  FramesBytes& bytes_;
  const Id128& writer_;
  const FramesVisitor& visitor_;
  std::vector<Bad> bad_;
};

}  // namespace

std::string frames_header(const Id128& writer) {
  ByteWriter out;
  out.bytes(kFramesMagic);
  out.bytes(writer.view());
  out.u32(0);
  out.u32(crc32c(out.buffer()));
  return out.take();
}

Result<Id128> read_frames_header(std::string_view bytes) {
  if (bytes.starts_with("TRKFRMS1")) return Status(Code::kVersion, std::string(kUnreleasedState));
  const std::string_view family = kFramesMagic.substr(0, kFramesMagic.size() - 1);
  if (!bytes.starts_with(family)) return Status(Code::kCorrupt, "no frames file: a wrong magic at byte 0");
  if (bytes.size() >= kFramesMagic.size() && bytes[family.size()] > kFramesMagic.back() && bytes[family.size()] <= '9')
    return Status(Code::kVersion,
                  fmt::format("has version {}, this program reads up to {}", bytes[family.size()], kFramesMagic.back()),
                  "update tracker; the file was not touched");
  if (bytes.size() < kFramesHeaderBytes) return Status(Code::kCorrupt, fmt::format("is cut at byte {}", bytes.size()));
  ByteReader crc(bytes.substr(kHeaderCrcAt));
  if (!bytes.starts_with(kFramesMagic) || crc.u32() != crc32c(bytes.substr(0, kHeaderCrcAt)))
    return Status(Code::kCorrupt, fmt::format("the header's CRC is wrong at byte {}", kHeaderCrcAt));
  Id128 writer;
  std::copy_n(bytes.begin() + kFramesMagic.size(), writer.bytes.size(), writer.bytes.begin());
  return writer;
}

void put_frames_record(const Id128& writer, uint64_t offset, FramesKind kind, std::string_view body, std::string* out) {
  ByteWriter head;
  head.bytes(kFramesRecordMagic);
  head.u32(static_cast<uint32_t>(kind));
  head.u32(static_cast<uint32_t>(body.size()));
  head.u32(crc32c(body));
  head.u32(head_crc(writer, offset, head.buffer()));
  out->append(head.buffer());
  out->append(body);
}

std::string frame_body(const FrameRecord& record) {
  ByteWriter out;
  out.u32(static_cast<uint32_t>(record.positions.size()));
  for (const RingPosition& position : record.positions) {
    out.u64(position.nonce);
    out.u64(position.position);
  }
  out.bytes(record.bytes);
  return out.take();
}

Result<FrameBody> read_frame_body(std::string_view body) {
  ByteReader in(body);
  FrameBody out;
  const uint32_t count = in.u32();
  if (!in.ok() || count > in.remaining() / 16) return Status(Code::kCorrupt, "more ring positions than bytes");
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t nonce = in.u64();
    out.positions.push_back({nonce, in.u64()});
  }
  out.frame = in.bytes(in.remaining());
  return out;
}

std::string retired_body(const std::vector<uint64_t>& nonces) {
  ByteWriter out;
  for (const uint64_t nonce : nonces) out.u64(nonce);
  return out.take();
}

Result<std::vector<uint64_t>> read_retired_body(std::string_view body) {
  if (body.size() % sizeof(uint64_t) != 0) return Status(Code::kCorrupt, "retired rings: a cut number");
  std::vector<uint64_t> out;
  for (ByteReader in(body); in.remaining() > 0;) out.push_back(in.u64());
  return out;
}

Result<std::string_view> FileBytes::view(uint64_t at, size_t n) {
  if (at >= size_) return std::string_view();
  n = static_cast<size_t>(std::min<uint64_t>(n, size_ - at));
  if (at < window_at_ || at + n > window_at_ + window_.size()) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(std::max(n, kWindowBytes), size_ - at));
    window_.resize(wanted);
    window_at_ = at;
    size_t have = 0;
    while (have < wanted) {
      const ssize_t got = ::pread(fd_, window_.data() + have, wanted - have, static_cast<off_t>(at + have));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) {
        const int error = errno;
        window_.clear();
        return Status::from_errno(error, "cannot read a frames file");
      }
      if (got == 0) break;  // cut meanwhile
      have += static_cast<size_t>(got);
    }
    window_.resize(have);
  }
  const auto skip = static_cast<size_t>(at - window_at_);
  return std::string_view(window_).substr(std::min(skip, window_.size()), n);
}

Result<uint64_t> scan_frames(FramesBytes& bytes, const Id128& writer, uint64_t from, const FramesVisitor& visitor) {
  return Scan(bytes, writer, visitor).run(from);
}

}  // namespace tracker::internal
