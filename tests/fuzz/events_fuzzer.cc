// SPDX-License-Identifier: MIT
// Goal: whatever the payloads of a run's events hold, its config, summary, texts, media, alerts, console and
// environment can be read, or are passed over. Method: the input is events (u8 type and whether it has a step, u8 step,
// u16 length, payload) of two frames in a sound .frames file, which is read as a run and made into a database.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "read_run.h"
#include "scratch.h"
#include "storage/frames/frames_format.h"
#include "storage/store/run_folder.h"

using namespace tracker::internal;

namespace {

WriterIdentity writer_of_run() {
  WriterIdentity out;
  out.writer = Id128::hash_of("writer");
  out.run = {Id128::hash_of("run"), "project", "label", 1'700'000'000'000'000};
  return out;
}

Event event_of(ByteReader* in) {
  const uint8_t head = in->u8();
  Event out;
  out.type = static_cast<EventType>(1 + head % 12);
  out.has_step = head >= 128;
  out.step = out.has_step ? in->u8() : 0;
  out.time_us = 1'700'000'000'000'000 + in->u8();
  const size_t size = in->u16();
  out.payload = in->bytes(std::min(size, in->remaining()));
  return out;
}

std::string frames_of(const WriterIdentity& identity, std::string_view input) {
  std::string out = frames_header(identity.writer);
  put_frames_record(identity.writer, out.size(), FramesKind::kIdentity, encode_cbor(identity.to_value()), &out);
  ByteReader in(input);
  for (uint64_t seq = 1; seq <= 2; ++seq) {
    Frame frame;
    frame.writer = identity.writer;
    frame.seq = seq;
    for (size_t left = seq == 1 ? in.u8() : SIZE_MAX; left > 0 && !in.at_end(); --left)
      frame.events.push_back(event_of(&in));
    put_frames_record(identity.writer, out.size(), FramesKind::kFrame, frame_body({seq, encode_frame(frame), {}}),
                      &out);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  static const WriterIdentity identity = writer_of_run();
  ::setenv("TRACKER_SHM_DIR", scratch.file("journals").c_str(), 1);
  scratch.write(kRunFile, run_document(identity.run));
  scratch.write(identity.writer.hex() + ".frames", frames_of(identity, {reinterpret_cast<const char*>(data), size}));
  read_run({identity.run, scratch.path(), ""});
  return 0;
}
