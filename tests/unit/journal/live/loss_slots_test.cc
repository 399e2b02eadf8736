// SPDX-License-Identifier: MIT
// What a ring counts as lost keeps its reason, however many metrics lose points. Method: more metrics than there are
// slots, each reason in turn, for points, texts and entries.
#include <gtest/gtest.h>

#include <map>

#include "codec/frame.h"
#include "journal/ring/ring_file.h"
#include "model/records.h"

namespace tracker::internal {
namespace {

std::map<uint64_t, uint64_t> loss_counts(const RingHeader& header) {
  std::map<uint64_t, uint64_t> out;
  for (const LossSlot& slot : header.losses)
    if (slot.key.load() != 0) out[slot.key.load()] += slot.count.load();
  return out;
}

// Bug: the last slot took the key of the first that came and the counts of all that followed.
TEST(LossSlotsTest, WhereSlotsRunOutReasonsTextsAndEntriesAreStillCountedApart) {
  auto ring = RingFile::create("", Id128::random(), 4096);
  ASSERT_TRUE(ring.ok());
  RingHeader* header = (*ring)->header();
  constexpr uint32_t kMetrics = 2 * kLossSlots;
  for (uint8_t reason = 1; reason <= kRingLossReasonLast; ++reason) {
    for (uint32_t series = 1; series <= kMetrics; ++series) count_loss(header, series, reason, reason);
    count_loss(header, kTextLosses, reason, 1000);
    count_loss(header, kEntryLosses, reason, 500);
  }
  std::map<uint64_t, uint64_t> of_points, of_texts, of_entries;
  size_t apart = 0;
  for (const auto& [key, count] : loss_counts(*header)) {
    const auto series = static_cast<uint32_t>(key >> 8);
    (series == kTextLosses ? of_texts : series == kEntryLosses ? of_entries : of_points)[key & 0xff] += count;
    if (is_of_points(series) && series != 0) ++apart;
  }
  EXPECT_EQ(apart, kLossSlots - kLossSlotsShared);
  for (uint8_t reason = 1; reason <= kRingLossReasonLast; ++reason) {
    EXPECT_EQ(of_points[reason], uint64_t{kMetrics} * reason) << loss_reason_text(static_cast<LossReason>(reason));
    EXPECT_EQ(of_entries[reason], 500u) << loss_reason_text(static_cast<LossReason>(reason));
    EXPECT_EQ(of_texts[reason], 1000u) << loss_reason_text(static_cast<LossReason>(reason));
  }
}

}  // namespace
}  // namespace tracker::internal
