// SPDX-License-Identifier: MIT
#include "exchange/event_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>

#include "base/crc32c.h"
#include "exchange/wire.h"

namespace tracker::internal {
namespace {

constexpr size_t kEventHeadBytes = 12, kTailBytes = 4;
constexpr uint32_t kMaskDelta = 0xa282ead8;

// tensorflow.DataType
constexpr uint64_t kDtFloat = 1, kDtDouble = 2, kDtInt32 = 3, kDtString = 7, kDtInt64 = 9, kDtBool = 10,
                   kDtBfloat16 = 14, kDtHalf = 19;

template <typename T>
T at(std::string_view bytes) {
  T out{};
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

struct Tensor {
  uint64_t dtype = 0;
  uint64_t elements = 1;
  std::string_view content, string;
  bool has_value = false, has_string = false;
  uint64_t value = 0;  // the first of a list
};

void read_shape(std::string_view message, Tensor* out) {
  WireReader reader(message);
  WireField dim;
  while (reader.next(&dim)) {
    if (!dim.is(2, WireType::kBytes)) continue;
    WireReader inner(dim.bytes);
    WireField field;
    uint64_t size = 0;  // which proto3 leaves out
    while (inner.next(&field))
      if (field.is(1, WireType::kVarint)) size = field.value;
    out->elements = size == 0 || out->elements == 0 ? 0 : size == 1 ? out->elements : 2;
  }
}

// The first element of a repeated field, packed or not.
void take_first(const WireField& field, size_t width, Tensor* out) {
  if (out->has_value) return;
  if (field.type != WireType::kBytes) {
    out->value = field.value;
    out->has_value = true;
  } else if (width == 0) {
    WireReader reader(field.bytes);
    out->has_value = reader.varint(&out->value);
  } else if (field.bytes.size() >= width) {
    std::memcpy(&out->value, field.bytes.data(), width);
    out->has_value = true;
  }
}

bool read_tensor(std::string_view message, Tensor* out) {
  WireReader reader(message);
  WireField field;
  while (reader.next(&field)) {
    switch (field.number) {
      case 1: out->dtype = field.value; break;
      case 2: read_shape(field.bytes, out); break;
      case 4: out->content = field.bytes; break;
      case 5: take_first(field, 4, out); break;
      case 6: take_first(field, 8, out); break;
      case 7:
      case 10:
      case 11:
      case 13: take_first(field, 0, out); break;
      case 8:
        if (!out->has_string) out->string = field.bytes;
        out->has_string = true;
        break;
      default: break;
    }
  }
  return reader.ok();
}

struct Number {
  ValueType type;
  size_t width;
};

bool number_of(uint64_t dtype, Number* out) {
  switch (dtype) {
    case kDtFloat: *out = {ValueType::kFloat32, 4}; return true;
    case kDtDouble: *out = {ValueType::kFloat64, 8}; return true;
    case kDtInt32: *out = {ValueType::kInt64, 4}; return true;
    case kDtInt64: *out = {ValueType::kInt64, 8}; return true;
    case kDtBool: *out = {ValueType::kBool, 1}; return true;
    case kDtBfloat16: *out = {ValueType::kBFloat16, 2}; return true;
    case kDtHalf: *out = {ValueType::kFloat16, 2}; return true;
    default: return false;
  }
}

void take_tensor(const Tensor& tensor, EventValue* out) {
  Number number{};
  out->kind = "tensors";
  if (tensor.dtype == kDtString && tensor.has_string) {
    out->has_text = true;
    out->text = tensor.string;
  }
  if (tensor.elements != 1 || !number_of(tensor.dtype, &number)) return;
  uint64_t bits = tensor.value;
  if (tensor.content.size() == number.width) {
    bits = 0;
    std::memcpy(&bits, tensor.content.data(), number.width);
  } else if (!tensor.has_value) {
    if (!tensor.content.empty()) return;
    bits = 0;  // proto3 omits fields that are 0
  }
  if (tensor.dtype == kDtInt32) bits = static_cast<uint64_t>(int64_t{static_cast<int32_t>(bits)});
  if (number.type == ValueType::kBool) bits = bits != 0;
  if (number.width == 2) bits &= 0xffff;
  out->has_number = true;
  out->type = number.type;
  out->bits = bits;
}

void read_metadata(std::string_view message, EventValue* out) {
  WireReader reader(message);
  WireField field;
  while (reader.next(&field)) {
    if (!field.is(1, WireType::kBytes)) continue;
    WireReader plugin(field.bytes);
    WireField part;
    while (plugin.next(&part)) {
      if (part.is(1, WireType::kBytes)) out->plugin = part.bytes;
      if (part.is(2, WireType::kBytes)) out->plugin_content = part.bytes;
    }
  }
}

constexpr uint64_t kDataClassScalar = 1, kDataClassTensor = 2;

std::string metadata_of(std::string_view plugin, uint64_t data_class) {
  std::string name, out;
  wire_bytes(1, plugin, &name);
  wire_bytes(1, name, &out);
  wire_varint(4, data_class, &out);
  return out;
}

// `more`: a second value of the event, or empty.
void append_event(std::string_view value, std::string_view more, int64_t step, double wall_time, std::string* out) {
  std::string summary, event;
  wire_bytes(1, value, &summary);
  if (!more.empty()) wire_bytes(1, more, &summary);
  wire_fixed64(1, std::bit_cast<uint64_t>(wall_time), &event);
  if (step != 0) wire_varint(2, static_cast<uint64_t>(step), &event);
  wire_bytes(5, summary, &event);
  append_event_record(event, out);
}

}  // namespace

uint32_t masked_crc32c(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return std::rotr(crc, 15) + kMaskDelta;
}

void append_event_record(std::string_view event, std::string* out) {
  const uint64_t size = event.size();
  const std::string_view head(reinterpret_cast<const char*>(&size), sizeof size);
  const uint32_t head_crc = masked_crc32c(head), crc = masked_crc32c(event);
  out->append(head);
  out->append(reinterpret_cast<const char*>(&head_crc), sizeof head_crc);
  out->append(event);
  out->append(reinterpret_cast<const char*>(&crc), sizeof crc);
}

Result<EventFile> EventFile::open(const std::string& path) {
  auto fd = open_file(path, O_RDONLY);
  if (!fd.ok()) return fd.status();
  struct stat info{};
  if (::fstat(fd->get(), &info) != 0) return Status::from_errno(errno, "cannot look at", path);
  if (!S_ISREG(info.st_mode)) return Status(Code::kInvalid, path + " is no file");
  EventFile out;
  out.path_ = path;
  out.fd_ = std::move(*fd);
  out.size_ = static_cast<uint64_t>(info.st_size);
  return out;
}

Status EventFile::fill(size_t bytes) {
  while (buffer_.size() - at_ < bytes) {
    buffer_.erase(0, at_);
    at_ = 0;
    const size_t there = buffer_.size();
    buffer_.resize(std::max(there + kEventBufferBytes, bytes));
    const ssize_t n = ::read(fd_.get(), buffer_.data() + there, buffer_.size() - there);
    const int error = errno;
    buffer_.resize(there + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n < 0 && error == EINTR) continue;
    if (n < 0) return Status::from_errno(error, "cannot read", path_);
    if (n == 0) return Status(Code::kNotFound, "");
  }
  return {};
}

Result<bool> EventFile::next(std::string_view* record) {
  if (ended_) return false;
  ended_ = true;  // unless the next record can be read
  const auto cut = [this](const Status& status) {
    if (status.code() != Code::kNotFound) return status;
    return Status(Code::kCorrupt, fmt::format("{} ends within the record at byte {}", path_, offset_),
                  "what is before it was taken");
  };
  Status status = fill(kEventHeadBytes);
  if (status.code() == Code::kNotFound && buffer_.size() == at_) return false;
  if (!status.ok()) return cut(status);
  const std::string_view head(buffer_.data() + at_, kEventHeadBytes);
  const auto size = at<uint64_t>(head);
  if (masked_crc32c(head.substr(0, 8)) != at<uint32_t>(head.substr(8)))
    return Status(Code::kCorrupt, fmt::format("{}: the length at byte {} does not verify", path_, offset_),
                  "what is before it was taken; the rest of the file cannot be read");
  if (size > kEventRecordBytesMax) {
    const uint64_t next_record = offset_ + kEventHeadBytes + size + kTailBytes;
    if (size > size_ || next_record > size_) return cut(Status(Code::kNotFound, ""));
    buffer_.clear();
    at_ = 0;
    if (::lseek(fd_.get(), static_cast<off_t>(next_record), SEEK_SET) < 0)
      return Status::from_errno(errno, "seek", path_);
    const uint64_t here = offset_;
    offset_ = next_record;
    ended_ = false;
    return Status(Code::kLimit, fmt::format("{}: the record at byte {} has {} bytes", path_, here, size));
  }
  status = fill(kEventHeadBytes + size + kTailBytes);
  if (!status.ok()) return cut(status);
  const std::string_view whole(buffer_.data() + at_, kEventHeadBytes + size + kTailBytes);
  *record = whole.substr(kEventHeadBytes, size);
  const uint64_t here = offset_;
  at_ += whole.size();
  offset_ += whole.size();
  ended_ = false;
  if (masked_crc32c(*record) != at<uint32_t>(whole.substr(kEventHeadBytes + size)))
    return Status(Code::kCorrupt, fmt::format("{}: the record at byte {} does not verify", path_, here),
                  "it was omitted, the records before and after it were imported");
  return true;
}

bool read_event_value(std::string_view message, EventValue* out) {
  *out = EventValue();
  WireReader reader(message);
  WireField field;
  bool is_tensor = false;
  Tensor tensor;
  while (reader.next(&field)) {
    if (field.is(1, WireType::kBytes)) out->tag = field.bytes;
    if (field.is(2, WireType::kFixed32)) {
      out->has_number = true;
      out->type = ValueType::kFloat32;
      out->bits = field.value;
    }
    if (field.is(4, WireType::kBytes)) out->kind = "images";
    if (field.is(5, WireType::kBytes)) out->kind = "histograms";
    if (field.is(6, WireType::kBytes)) out->kind = "audio";
    if (field.type == WireType::kBytes && field.number >= 4 && field.number <= 8 && field.number != 7)
      out->message = field.bytes;
    if (field.is(8, WireType::kBytes)) {
      is_tensor = true;
      if (!read_tensor(field.bytes, &tensor)) return false;
    }
    if (field.is(9, WireType::kBytes)) read_metadata(field.bytes, out);
  }
  if (is_tensor) take_tensor(tensor, out);
  return reader.ok();
}

float nearest_float(ValueType type, uint64_t bits) {
  const double value = to_double(type, bits);
  constexpr double kMax = std::numeric_limits<float>::max();
  if (std::isfinite(value) && std::fabs(value) > kMax)
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(std::copysign(1.0, value)));
  return static_cast<float>(value);
}

namespace {

std::string simple_value(std::string_view tag, uint64_t float32_bits) {
  std::string value;
  wire_bytes(1, tag, &value);
  wire_fixed32(2, static_cast<uint32_t>(float32_bits), &value);
  return value;
}

std::string tensor_value(std::string_view tag, ValueType type, uint64_t bits, std::string_view metadata) {
  const uint64_t dtype = type == ValueType::kFloat64    ? kDtDouble
                         : type == ValueType::kInt64    ? kDtInt64
                         : type == ValueType::kFloat16  ? kDtHalf
                         : type == ValueType::kBFloat16 ? kDtBfloat16
                                                        : kDtBool;
  std::string value, tensor;
  wire_bytes(1, tag, &value);
  wire_varint(1, dtype, &tensor);
  wire_bytes(2, "", &tensor);
  wire_bytes(4, std::string_view(reinterpret_cast<const char*>(&bits), value_width(type)), &tensor);
  wire_bytes(8, tensor, &value);
  wire_bytes(9, metadata, &value);
  return value;
}

}  // namespace

void append_scalar_event(std::string_view tag, ValueType type, uint64_t bits, int64_t step, double wall_time,
                         std::string* out) {
  const std::string value = type == ValueType::kFloat32
                                ? simple_value(tag, bits)
                                : tensor_value(tag, type, bits, metadata_of("scalars", kDataClassScalar));
  append_event(value, "", step, wall_time, out);
}

std::string exact_tag(std::string_view tag) { return std::string(tag) + "/exact"; }

void append_exact_event(std::string_view tag, ValueType type, uint64_t bits, int64_t step, double wall_time,
                        std::string* out) {
  const std::string exact = tensor_value(exact_tag(tag), type, bits, metadata_of(kExactPlugin, kDataClassTensor));
  append_event(simple_value(tag, bits_of(nearest_float(type, bits))), exact, step, wall_time, out);
}

void append_text_event(std::string_view tag, std::string_view text, int64_t step, double wall_time, std::string* out) {
  std::string value, tensor;
  wire_bytes(1, tag, &value);
  wire_varint(1, kDtString, &tensor);
  wire_bytes(2, "", &tensor);
  wire_bytes(8, text, &tensor);
  wire_bytes(8, tensor, &value);
  wire_bytes(9, metadata_of("text", kDataClassTensor), &value);
  append_event(value, "", step, wall_time, out);
}

}  // namespace tracker::internal
