// SPDX-License-Identifier: MIT
// Writes the first inputs of each fuzzer into the folder named on the command line (tests/fuzz/corpus). Run it again
// when a format gets a new version; inputs that once crashed stay beside them under names of their own.
#include <fcntl.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "base/fs.h"
#include "codec/best_column.h"
#include "codec/frame.h"
#include "codec/level.h"
#include "codec/segment.h"
#include "corpus_files.h"
#include "corpus_runs.h"
#include "journal/ring/definitions.h"
#include "journal/ring/spill.h"
#include "model/value.h"
#include "storage/frames/frames_format.h"

using namespace tracker::internal;

namespace {

Frame sample_frame() {
  Frame frame;
  frame.writer = Id128::hash_of("corpus");
  frame.seq = 3;
  frame.defs = {{1, ValueType::kFloat64, "loss"}, {2, ValueType::kInt64, "epoch"}};
  Block block;
  block.series = {1, 2};
  for (int64_t row = 0; row < 6; ++row) {
    block.steps.push_back(row * row);
    block.times_us.push_back(1'700'000'000'000'000 + row * 1000);
  }
  block.values = {{1, 2, 3, 0x7ff8000000000001, 5, 1u << 31}, {7, 7, 7, 7, 7, 7}};
  frame.blocks = {block};
  Value payload = Value::map();
  payload.set("key", "lr");
  payload.set("value", 0.1);
  frame.events = {{EventType::kConfig, false, 0, 1'700'000'000'000'000, encode_cbor(payload)}};
  frame.losses = {{1, LossReason::kRingFull, 12}};
  return frame;
}

Value sample_value() {
  Value inner = Value::map();
  inner.set("beta", Value(Value::List{Value(0.9), Value(int64_t{-5}), Value(true), Value(nullptr)}));
  Value value = Value::map();
  value.set("adam", inner);
  value.set("name", "a \"quoted\" text\n");
  return value;
}

// One series in 3,000 columns of a few equal rows.
Frame repeated_series() {
  Frame frame = sample_frame();
  Block& block = frame.blocks[0];
  block.series.assign(3000, 1);
  block.types.assign(3000, ValueType::kFloat64);
  block.values.assign(3000, std::vector<uint64_t>(block.times_us.size(), bits_of(0.5)));
  return frame;
}

// Two frames of one shape and one of another; rows enough for two mini-blocks, with steps that go back.
std::string sample_segment(uint64_t frames, int64_t rows) {
  SegmentBuilder builder(sample_frame().writer);
  for (uint64_t seq = 1; seq <= frames; ++seq) {
    Frame frame = sample_frame();
    frame.seq = seq;
    Block block;
    block.series = {1, 2, 3};
    block.types = {ValueType::kFloat32, ValueType::kInt64, ValueType::kBFloat16};
    block.values.resize(3);
    for (int64_t row = 0; row < rows; ++row) {
      block.steps.push_back(row + static_cast<int64_t>(seq) * 10);
      block.times_us.push_back(1'700'000'000'000'000 + row * 1000 + (row * 7919) % 100);
      block.values[0].push_back(bits_of(1.0f + static_cast<float>(row * 7919 % 1000) * 1e-4f));
      block.values[1].push_back(static_cast<uint64_t>(row / 10));
      block.values[2].push_back(row % 100 == 99 ? 0x7fc0 : 0x3f80 + static_cast<uint64_t>(row % 9));
    }
    frame.blocks = {block};
    const std::string bytes = encode_frame(frame);
    auto view = FrameView::parse(bytes);
    if (!view.ok() || !builder.add(*view).ok()) return "";
  }
  return builder.finish().value_or("");
}

// The inputs of column_fuzzer: type less one, rows, begin, end, column.
std::string sample_column(ColumnEncoding encoding, ValueType type) {
  std::vector<uint64_t> bits;
  for (uint64_t i = 0; i < 600; ++i) bits.push_back(i % 97 == 0 ? 0x7fc0 : 0x3f80 + i * i % 13);
  if (type == ValueType::kBool)
    for (uint64_t& v : bits) v &= 1;
  if (encoding == ColumnEncoding::kDecimal)
    for (uint64_t& v : bits) v = v % 97 == 0 ? bits_of(-0.0) : bits_of(static_cast<double>(v) / 100);
  const uint16_t numbers[] = {600, 100, 530};
  std::string out(1, static_cast<char>(static_cast<uint8_t>(type) - 1));
  out.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  put_column(encoding, bits, type, &out);
  return out;
}

// The input of level_fuzzer: a level without its CRC.
std::string sample_level(ValueType type, int64_t stride, bool finite, LevelAxis axis = LevelAxis::kSteps) {
  constexpr int64_t kRows = 5000;
  std::vector<int64_t> steps;
  std::vector<uint64_t> bits;
  for (int64_t row = 0; row < kRows; ++row) {
    steps.push_back(stride > 0 ? row * stride : row * 3 + row % 2);
    const double value = !finite && row % 700 == 0 ? NAN : static_cast<double>(row * 7919 % 1000) - 500;
    const auto narrow = static_cast<float>(value);
    bits.push_back(type == ValueType::kFloat64   ? bits_of(value)
                   : type == ValueType::kFloat32 ? bits_of(narrow)
                                                 : static_cast<uint64_t>(row / 7));
  }
  const std::string bytes =
      encode_level(make_level(steps, bits, type, level_shift(kRows, steps.front(), steps.back(), axis), axis));
  return bytes.substr(0, bytes.size() - sizeof(uint32_t));
}

bool write_levels_to(const std::string& root) {
  return write_file_atomic(join_path(root, "level/float32-stride"), sample_level(ValueType::kFloat32, 2, true), 0644)
             .ok() &&
         write_file_atomic(join_path(root, "level/float64-gaps"), sample_level(ValueType::kFloat64, 0, false), 0644)
             .ok() &&
         write_file_atomic(join_path(root, "level/int64-gaps"), sample_level(ValueType::kInt64, 0, true), 0644).ok() &&
         write_file_atomic(join_path(root, "level/float32-times"),
                           sample_level(ValueType::kFloat32, 0, false, LevelAxis::kTimes), 0644)
             .ok();
}

bool write_segments_and_columns(const std::string& root) {
  bool ok = write_file_atomic(join_path(root, "segment/one-frame"), sample_segment(1, 20), 0644).ok() &&
            write_file_atomic(join_path(root, "segment/three-frames"), sample_segment(3, 300), 0644).ok();
  for (uint8_t type = 1; type <= 6; ++type) {
    for (const auto encoding :
         {ColumnEncoding::kPacked, ColumnEncoding::kPackedDeltas, ColumnEncoding::kShuffled,
          ColumnEncoding::kPackedSecond, ColumnEncoding::kPackedThird, ColumnEncoding::kDecimal}) {
      if (encoding == ColumnEncoding::kDecimal && static_cast<ValueType>(type) != ValueType::kFloat64) continue;
      const std::string name =
          std::string(value_type_name(static_cast<ValueType>(type))) + "-" + std::to_string(static_cast<int>(encoding));
      const std::string column = sample_column(encoding, static_cast<ValueType>(type));
      ok = ok && write_file_atomic(join_path(root, "column/" + name), column, 0644).ok();
    }
    const std::string values = std::string(1, static_cast<char>(type - 1)) + std::string("\x00\x12\x05", 3) +
                               std::string("0123456789abcdef0000000000000000fedcba98");
    ok = ok && write_file_atomic(join_path(root, "column_values/type-" + std::to_string(type)), values, 0644).ok();
  }
  return ok;
}

std::string sample_frames_file(const WriterIdentity& identity) {
  std::string out = frames_header(identity.writer);
  const auto put = [&](FramesKind kind, const std::string& body) {
    put_frames_record(identity.writer, out.size(), kind, body, &out);
  };
  Frame frame = sample_frame();
  frame.writer = identity.writer;
  put(FramesKind::kIdentity, encode_cbor(identity.to_value()));
  put(FramesKind::kFrame, frame_body({frame.seq, encode_frame(frame), {{1, 4096}, {2, 8}}}));
  put(FramesKind::kRetired, retired_body({1}));
  put(FramesKind::kHeartbeat, "12345678");
  put(FramesKind::kSkippable, "of a newer version");
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  const std::string root = argv[1];
  for (const char* name :
       {"cbor", "frame", "definitions", "spill", "segment", "level", "column", "column_values", "frames_file"}) {
    if (!make_dirs(join_path(root, name)).ok()) return 1;
  }
  const std::string definitions = join_path(root, "definitions/two-series");
  const std::string spill = join_path(root, "spill");
  remove_file(definitions);
  remove_file(join_path(spill, "spill"));
  bool ok = write_file_atomic(join_path(root, "cbor/nested"), encode_cbor(sample_value()), 0644).ok() &&
            write_file_atomic(join_path(root, "cbor/json"), to_json(sample_value()), 0644).ok() &&
            write_file_atomic(join_path(root, "frame/one-block"), encode_frame(sample_frame()), 0644).ok() &&
            write_file_atomic(join_path(root, "frame/one-series-often"), encode_frame(repeated_series()), 0644).ok() &&
            write_file_atomic(join_path(root, "frame/empty"), encode_frame(Frame{}), 0644).ok();
  ok = ok && write_segments_and_columns(root) && write_levels_to(root);

  WriterIdentity identity;
  identity.writer = Id128::hash_of("writer");
  identity.run = {Id128::hash_of("run"), "project", "label", 1'700'000'000'000'000};
  identity.store_path = "/store";
  auto file = DefinitionsFile::create(definitions, identity);
  ok = ok && file.ok();
  for (const SeriesDef& series : sample_frame().defs) ok = ok && file->append(series).ok();

  const uint64_t nonce = 0x1122334455667788;
  SpillFile spilled(spill, nonce);
  ok = ok && spilled.append({3, encode_frame(sample_frame()), {{nonce, 4096}}}, 1 << 20);
  auto bytes = read_file(join_path(spill, "spill"), 1 << 20);
  const std::string head(reinterpret_cast<const char*>(&nonce), sizeof nonce);
  ok = ok && bytes.ok() && write_file_atomic(join_path(spill, "one-frame"), head + *bytes, 0644).ok();
  remove_file(join_path(spill, "spill"));
  ok = ok && write_built_inputs(root) && write_run_inputs(root);
  ok = ok && write_file_atomic(join_path(root, "frames_file/each-kind"), sample_frames_file(identity), 0644).ok();
  std::puts(ok ? "written" : "failed");
  return ok ? 0 : 1;
}
