// SPDX-License-Identifier: MIT
// Goal: no bytes in an event file that a live run goes on with, marks with places in the log among them, make it crash
// or write for ever; what it has brought up to date once it leaves as it is the next time. Method: the input is records
// (kind, length, body), framed with sums that a fuzzer cannot guess, a mark with a place as its own; or the file
// itself.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "exchange/event_file.h"
#include "exchange/live_events.h"
#include "exchange/wire.h"
#include "scratch.h"
#include "storage/database/writer_db.h"
#include "storage/store/run_folder.h"

using namespace tracker::internal;

namespace {

constexpr uint32_t kMarkField = 1000;
constexpr uint64_t kBytesMax = 1 << 20;  // so that a place at the start, again and again, is bounded too

RunFolder make_run(const Scratch& scratch) {
  WriterIdentity who;
  who.writer = Id128::hash_of("writer");
  who.run = {Id128::hash_of("run"), "project", "label", 1'700'000'000'000'000};
  auto db = WriterDb::create(scratch.path(), who);
  Frame frame;
  frame.writer = who.writer;
  frame.seq = 1;
  frame.defs = {{1, ValueType::kFloat64, "loss"}};
  Block block;
  block.series = {1};
  block.types = {ValueType::kFloat64};
  block.values.resize(1);
  for (int64_t row = 0; row < 40; ++row) {
    block.steps.push_back(row);
    block.times_us.push_back(who.run.created_us + row);
    block.values[0].push_back(bits_of(static_cast<double>(row)));
  }
  frame.blocks = {block};
  if (!db.ok() || !(*db)->append({{1, encode_frame(frame), {}}}, false).ok() || !(*db)->finish().ok()) std::abort();
  scratch.write(kRunFile, run_document(who.run));
  return {who.run, scratch.path(), ""};
}

// A place in the log of the one writer there is.
std::string token_at(uint64_t seq, uint64_t points) {
  TailCursor cursor;
  cursor.writers[Id128::hash_of("writer")] = {seq, points};
  return cursor.token();
}

std::string file_of(ByteReader* in) {
  std::string out;
  while (in->ok() && !in->at_end()) {
    const uint8_t kind = in->u8();
    std::string event;
    if (kind % 4 == 0) {
      std::string mark;
      wire_bytes(1, token_at(in->u8(), in->u8()), &mark);
      wire_varint(2, kind / 4 % 2, &mark);
      wire_varint(3, in->u8(), &mark);
      wire_bytes(kMarkField, mark, &event);
    } else {
      const std::string_view body = in->bytes(std::min<size_t>(in->u8(), in->remaining()));
      if (kind % 4 == 1) wire_bytes(kMarkField, body, &event);
      else event = body;
    }
    if (kind % 4 == 3) out += event;
    else append_event_record(event, &out);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  static const RunFolder folder = make_run(scratch);
  ByteReader in({reinterpret_cast<const char*>(data), size});
  const bool raw = in.u8() % 4 == 0;
  const std::string path = scratch.write("events", raw ? std::string(in.bytes(in.remaining())) : file_of(&in));
  auto view = RunView::open(folder);
  if (!view.ok()) std::abort();
  const auto follow = [&] {
    LiveEvents events({.attempt = 2, .resume_step = 10, .bytes_max = kBytesMax});
    int batches = 0;
    return events.follow(path, view->get(), [&batches] { return ++batches < 1000; });
  };
  const Status first = follow();
  if (!first.ok() && first.message().empty()) std::abort();
  if (!first.ok()) return 0;
  const auto bytes = std::filesystem::file_size(path);
  if (!follow().ok() || std::filesystem::file_size(path) != bytes) std::abort();
  return 0;
}
