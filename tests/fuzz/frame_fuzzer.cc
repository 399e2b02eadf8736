// SPDX-License-Identifier: MIT
// Goal: no bytes make the frame decoder read out of bounds, hang or allocate without bound, and what it accepts is what
// the encoder writes; nor do they in the builder of segments. Method: the view without its CRC, which a fuzzer cannot
// guess; then decode, encode, decode again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "codec/frame.h"
#include "codec/segment.h"

using namespace tracker::internal;

namespace {

constexpr uint64_t kDecodedRowsMax = 4'000'000;  // of all columns

// As compaction does it. What does not fit stays a frame; what fits has all points.
void make_segment(const FrameView& frame) {
  SegmentBuilder builder(frame.writer(), 1 << 20);
  uint64_t cells = 0;  // constants expand to what the caller takes; small here, to be fast
  for (const FrameView::BlockView& block : frame.blocks()) cells += block.rows * (block.series.size() + 3);
  if (cells > 200'000 || !builder.add(frame).ok()) return;
  if (builder.points() != frame.points()) std::abort();
  auto segment = builder.finish();
  if (!segment.ok() || !SegmentView::parse(*segment)->check().ok()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto view = FrameView::parse(bytes, false);
  uint64_t decoded = 0;
  if (view.ok()) {
    for (const FrameView::BlockView& block : view->blocks()) {
      // A column of two bytes expands to what the caller takes (kFrameRowsMax), and a frame of 64 KiB has ten thousand
      // of them: bounded over all, or one input takes half a second, and ten where the machine is busy.
      if (block.rows > 10'000) continue;
      const auto may_decode = [&] { return (decoded += block.rows) <= kDecodedRowsMax; };
      std::vector<int64_t> ints;
      if (may_decode()) (void)FrameView::read_ints(block.steps, block.rows, &ints);
      ints.clear();
      if (may_decode()) (void)FrameView::read_ints(block.times, block.rows, &ints);
      for (const std::string_view column : block.values) {
        for (const ValueType type : {ValueType::kFloat64, ValueType::kInt64, ValueType::kBool}) {
          std::vector<uint64_t> values;
          if (may_decode()) (void)FrameView::read_values(column, block.rows, type, &values);
        }
      }
    }
  }
  if (view.ok()) make_segment(*view);
  auto frame = decode_frame(bytes);
  if (!frame.ok()) return 0;
  auto again = decode_frame(encode_frame(*frame));
  if (!again.ok() || !(*again == *frame)) std::abort();
  return 0;
}
