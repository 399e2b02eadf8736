// SPDX-License-Identifier: MIT
// Reads media in TensorBoard's events: images, sound and histograms, as a message of their own (torch, TensorFlow 1) or
// as a tensor of a plugin (TensorFlow 2). The bytes may come from anyone. Threads: pure functions. Memory:
// kEventMediaMax views.
#pragma once

#include <string_view>
#include <vector>

#include "exchange/event_file.h"
#include "model/value.h"

namespace tracker::internal {

// Limit: images or sounds of one value of an event file. Beyond it: the first ones are taken.
constexpr size_t kEventMediaMax = 1'000;
// Limit: bins of a histogram in an event file. Beyond it: left out and counted.
constexpr size_t kEventBinsMax = 2'048;

struct EventMedium {
  Value said;                  // its event without the file: kind, width, …
  std::string_view bytes;      // of its file; empty: no file
  std::string_view extension;  // determined from its first bytes
};

// `plugin`: of the tag. Empty: it is none of these, incomplete, of a format that readers do not open, or too large.
std::vector<EventMedium> read_event_media(const EventValue& value, std::string_view plugin);

}  // namespace tracker::internal
