// SPDX-License-Identifier: MIT
// The constants that encoder and decoder of a segment share (docs/formats/segment.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tracker::internal {

constexpr std::string_view kSegmentMagic = "TSEG";
constexpr size_t kSegmentVersionAt = 4;
constexpr size_t kSegmentSizeAt = 8;
constexpr size_t kSegmentDirectoryBytesAt = 44;
constexpr size_t kSegmentCrcAt = 48;

// Flags of a block.
constexpr uint8_t kRowsHaveSteps = 1;
constexpr uint8_t kStepsIncrease = 2;
constexpr uint8_t kRowsHaveOrder = 4;
constexpr uint8_t kRowFlags = 7;

// Flags of a summary.
constexpr uint8_t kSomeNotFinite = 1;
constexpr uint8_t kAllTheSame = 2;
constexpr uint8_t kSummaryFlags = 3;

// First byte of the log.
constexpr uint8_t kLogPlain = 0;
constexpr uint8_t kLogCompressed = 1;

}  // namespace tracker::internal
