// SPDX-License-Identifier: MIT
// The bytes of a <writer>.frames file (docs/formats/frames-file.md): a header, then records with two CRCs each, one
// over the head and the offset, one over the body. A reader needs no lock: bytes at the end that do not verify are not
// written yet; bytes before a valid record that do not verify are damage. Pure functions except FileBytes; threads:
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fs.h"
#include "base/ids.h"
#include "codec/frame.h"
#include "journal/ring/frame_record.h"

namespace tracker::internal {

constexpr std::string_view kFramesMagic = "TRKFLOG1";  // the last byte is the version
constexpr std::string_view kFramesRecordMagic = "TFL1";
constexpr size_t kFramesHeaderBytes = 32;
constexpr size_t kFramesHeadBytes = 20;
constexpr size_t kFramesBodyBytesMax = kFrameBytesMax + (1u << 20);  // a frame and its ring positions

// On disk: do not change the numbers. Readers skip unknown kinds from kSkippable up.
enum class FramesKind : uint32_t { kIdentity = 1, kFrame = 2, kHeartbeat = 3, kRetired = 4, kSkippable = 128 };

std::string frames_header(const Id128& writer);
// The id of the writer, from the header. kCorrupt: no valid header; kVersion: of a newer version.
Result<Id128> read_frames_header(std::string_view bytes);
// Appends a record for `offset` of the file.
void put_frames_record(const Id128& writer, uint64_t offset, FramesKind kind, std::string_view body, std::string* out);

// Body of kFrame. The view of the frame is valid as long as `body`.
std::string frame_body(const FrameRecord& record);
struct FrameBody {
  std::vector<RingPosition> positions;
  std::string_view frame;
};
Result<FrameBody> read_frame_body(std::string_view body);
std::string retired_body(const std::vector<uint64_t>& nonces);
Result<std::vector<uint64_t>> read_retired_body(std::string_view body);

// The source of bytes for a scan.
class FramesBytes {
 public:
  virtual ~FramesBytes() = default;
  virtual uint64_t size() const = 0;
  // Up to `n` bytes at `at`; fewer at the end. Views are valid until the next call.
  virtual Result<std::string_view> view(uint64_t at, size_t n) = 0;
};

class MemoryBytes : public FramesBytes {
 public:
  explicit MemoryBytes(std::string_view bytes) : bytes_(bytes) {}
  uint64_t size() const override { return bytes_.size(); }
  Result<std::string_view> view(uint64_t at, size_t n) override {
    return at >= bytes_.size() ? std::string_view() : bytes_.substr(at, n);
  }

 private:
  std::string_view bytes_;
};

// The file up to its size at construction; holds a window of 1 MiB, or of one larger record.
class FileBytes : public FramesBytes {
 public:
  FileBytes(int fd, uint64_t size) : fd_(fd), size_(size) {}
  uint64_t size() const override { return size_; }
  Result<std::string_view> view(uint64_t at, size_t n) override;

 private:
  int fd_;
  uint64_t size_;
  uint64_t window_at_ = 0;
  std::string window_;
};

struct FramesEntry {
  FramesKind kind = FramesKind::kFrame;
  uint64_t offset = 0;
  std::string_view body;
};
// Bytes that do not verify, with a valid record somewhere after them.
struct FramesDamage {
  uint64_t offset = 0, bytes = 0;
  std::string_view body;  // of a record whose head is valid; else empty
};

struct FramesVisitor {
  std::function<Status(const FramesEntry&)> entry;  // an error of it ends the scan with that error
  std::function<void(const FramesDamage&)> damage;
};
// Visits the records from `from` on, which is the end of the header or of a record. Returns the end of the last valid
// record (`from` if there is none): what follows it is not written yet. kIo: the bytes cannot be read.
Result<uint64_t> scan_frames(FramesBytes& bytes, const Id128& writer, uint64_t from, const FramesVisitor& visitor);

}  // namespace tracker::internal
