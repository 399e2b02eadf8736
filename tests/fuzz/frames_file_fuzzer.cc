// SPDX-License-Identifier: MIT
// Goal: no bytes in a .frames file make a reader crash, run for ever, or take memory that is not there. Method: the
// whole file is the input, what its header does not name is read as if it did; and the input as bodies of records (u8
// kind, u16 length each) with the CRCs that a fuzzer cannot guess.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "storage/frames/frames_log.h"
#include "storage/log/event_state.h"

using namespace tracker::internal;

namespace {

void scan(std::string_view file) {
  const Id128 writer = read_frames_header(file.substr(0, kFramesHeaderBytes)).value_or(Id128{});
  MemoryBytes bytes(file);
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
}

std::string file_of(std::string_view input) {
  const Id128 writer = Id128::hash_of("writer");
  std::string out = frames_header(writer);
  ByteReader in(input);
  while (!in.at_end()) {
    const auto kind = static_cast<FramesKind>(in.u8());
    const size_t size = in.u16();
    const std::string_view body = in.bytes(std::min(size, in.remaining()));
    put_frames_record(writer, out.size(), kind, body, &out);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  scan(input);
  scan(file_of(input));
  (void)read_frame_body(input).ok();
  (void)read_retired_body(input).ok();
  return 0;
}
