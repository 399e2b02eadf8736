// SPDX-License-Identifier: MIT
// Goal: no bytes in a .frames file make a reader crash, run for ever, or take memory that is not there. Method: the
// whole file is the input; what its header does not name is read as if it did.
#include <cstddef>
#include <cstdint>
#include <string>

#include "storage/event_state.h"
#include "storage/frames_log.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Id128 writer = read_frames_header(input.substr(0, kFramesHeaderBytes)).value_or(Id128{});
  MemoryBytes bytes(input);
  FramesTotals totals;
  EventState events;
  FramesVisitor visitor;
  visitor.entry = [&](const FramesEntry& entry) {
    auto view = add_entry(writer, entry, &totals);
    if (view.ok() && *view) events.apply(**view);
    return Status();
  };
  visitor.damage = [](const FramesDamage&) {};
  (void)scan_frames(bytes, writer, kFramesHeaderBytes, visitor).ok();
  (void)events.attributes();
  (void)read_frame_body(input).ok();
  (void)read_retired_body(input).ok();
  return 0;
}
