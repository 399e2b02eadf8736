// SPDX-License-Identifier: MIT
// The constants that encoder and decoder of a frame share (docs/formats/frame.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace tracker::internal {

constexpr std::string_view kFrameMagic = "TFRM";
constexpr size_t kFrameVersionAt = 4;
constexpr size_t kFrameFlagsAt = 6;
constexpr size_t kFrameSizeAt = 8;
constexpr size_t kFrameHeaderBytes = 36;
constexpr size_t kFrameCrcBytes = 4;

// On disk: do not change the numbers. Readers skip unknown kinds from kSkippable up and refuse other unknown kinds.
enum class SectionKind : uint8_t { kDefs = 1, kBlock = 2, kEvents = 3, kLosses = 4, kSkippable = 128 };

constexpr uint8_t kBlockHasSteps = 1;
constexpr uint8_t kBlockHasOrder = 2;
constexpr uint8_t kEventHasStep = 1;

}  // namespace tracker::internal
