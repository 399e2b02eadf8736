// SPDX-License-Identifier: MIT
// Reads and writes the records of a TensorBoard event file (TFRecord: length, its masked CRC-32C, bytes, theirs) and
// the messages Event, Summary.Value and scalar tensors in them. The bytes may come from anyone. Threads: one at a time.
// Memory: kEventBufferBytes, and one record.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "base/status.h"
#include "model/number.h"

namespace tracker::internal {

constexpr size_t kEventBufferBytes = 1u << 20;
// Limit: bytes of a record of an event file. Beyond it: left out and counted.
constexpr uint64_t kEventRecordBytesMax = 64u << 20;

uint32_t masked_crc32c(std::string_view bytes);
void append_event_record(std::string_view event, std::string* out);

class EventFile {
 public:
  static Result<EventFile> open(const std::string& path);
  // The next record, valid until the next call; false at the end. kCorrupt with the file and the offset: a record whose
  // bytes do not verify (the next one can be read), a length that does not, or a file that ends within a record (this
  // was the last one). kLimit: a record above kEventRecordBytesMax was skipped.
  Result<bool> next(std::string_view* record);
  uint64_t offset() const { return offset_; }  // of the next record
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  EventFile() = default;
  Status fill(size_t bytes);  // kNotFound: the file has fewer
  std::string path_;
  Fd fd_;
  std::string buffer_;
  size_t at_ = 0;  // in the buffer
  uint64_t offset_ = 0, size_ = 0;
  bool ended_ = false;
};

// A value of a summary, if it is a number or a text.
struct EventValue {
  std::string_view tag;
  std::string_view plugin;          // of its metadata; empty without
  std::string_view plugin_content;  // likewise
  bool has_number = false;
  ValueType type = ValueType::kFloat32;
  uint64_t bits = 0;
  bool has_text = false;
  std::string_view text;
  const char* kind = "other";  // its kind if it is neither: "images", "histograms", …
  std::string_view message;    // of that; of a tensor too
};
// False: the bytes are no summary value.
bool read_event_value(std::string_view message, EventValue* out);

// Appends an event with one scalar: as simple_value for float32, else as a tensor of one element, which TensorBoard
// shows too, but EventAccumulator.Scalars() does not find.
void append_scalar_event(std::string_view tag, ValueType type, uint64_t bits, int64_t step, double wall_time,
                         std::string* out);
// The value as a simple_value; outside its range an infinity.
float nearest_float(ValueType type, uint64_t bits);
// Appends an event with one scalar twice: as the nearest simple_value, and exactly, as a tensor that no page of
// TensorBoard shows and an import uses instead: its tag is exact_tag() of the first, its plugin kExactPlugin.
constexpr std::string_view kExactPlugin = "tracker_exact";
std::string exact_tag(std::string_view tag);
void append_exact_event(std::string_view tag, ValueType type, uint64_t bits, int64_t step, double wall_time,
                        std::string* out);
void append_text_event(std::string_view tag, std::string_view text, int64_t step, double wall_time, std::string* out);

}  // namespace tracker::internal
