// SPDX-License-Identifier: MIT
// Goal: no bytes make the segment decoder read out of bounds, hang or allocate without bound, and what it finds sound
// can be written again and says the same. Method: the view without its CRCs, which a fuzzer cannot guess.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

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
  for (size_t b = 0; b < view->blocks().size(); ++b) {
    std::vector<StepSummary> steps;
    (void)view->mini_steps(b, &steps);
    for (size_t i = 0; i < view->blocks()[b].series.size(); ++i) {
      std::vector<ValueSummary> minis;
      (void)view->mini_summaries(b, i, &minis);
    }
  }
  const bool sound = view->check().ok();
  SegmentBuilder builder(view->writer());
  if (!builder.add(&*view).ok()) return 0;
  auto again = builder.finish();
  if (!again.ok()) std::abort();
  auto rewritten = SegmentView::parse(*again);
  if (!rewritten.ok() || rewritten->points() != view->points()) std::abort();
  if (sound && !rewritten->check().ok()) std::abort();
  return 0;
}
