// SPDX-License-Identifier: MIT
// Goal: no bytes make the segment decoder read out of bounds, hang or allocate without bound, and what it finds sound
// can be written again and says the same. Method: the view without its CRCs, which a fuzzer cannot guess.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "codec/cut_segment.h"
#include "codec/segment.h"

using namespace tracker::internal;

namespace {

// Columns of constants expand to what the caller takes (kSegmentRowsMax); small here, to be fast.
bool is_small(const SegmentView& view) {
  uint64_t cells = 0;
  for (const SegmentBlock& block : view.blocks()) cells += block.rows * (block.series.size() + 3);
  return cells <= 200'000;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto view = SegmentView::parse({reinterpret_cast<const char*>(data), size}, false);
  if (!view.ok() || !is_small(*view)) return 0;
  const bool sound = view->check().ok();
  SegmentBuilder builder(view->writer());
  if (!builder.add(&*view).ok()) return 0;
  auto again = builder.finish();
  if (!again.ok()) std::abort();
  auto rewritten = SegmentView::parse(*again);
  if (!rewritten.ok() || rewritten->points() != view->points()) std::abort();
  if (sound && !rewritten->check().ok()) std::abort();
  const auto halves = cut_segment(&*view, view->first_seq() + (view->last_seq() - view->first_seq()) / 2);
  if (halves.ok() != sound) std::abort();
  if (!sound) return 0;
  uint64_t points = 0;
  for (const std::string& bytes : {halves->up_to, halves->after}) {
    if (bytes.empty()) continue;
    auto half = SegmentView::parse(bytes);
    if (!half.ok() || !half->check().ok()) std::abort();
    points += half->points();
  }
  if (points != view->points()) std::abort();
  return 0;
}
