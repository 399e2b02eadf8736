// SPDX-License-Identifier: MIT
// Goal: a run's database whose bytes are changed anywhere, SQLite's own among them, is read to an end, with an error or
// with rows that were logged: none has another value or time. Method: a database of ours with frames, segments and
// levels; the input is a length that it is cut to, and places with what is written there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/fs.h"
#include "read_run.h"
#include "scratch.h"
#include "storage/database/writer_db.h"
#include "storage/store/run_folder.h"

using namespace tracker::internal;

namespace {

constexpr int64_t kRows = 24'000, kFrameRows = 300;
constexpr int64_t kFirstUs = 1'700'000'000'000'000;

double value_at(int64_t step) { return static_cast<double>(step * 7919 % 1000) / 8; }

WriterIdentity writer_of_run() {
  WriterIdentity out;
  out.writer = Id128::hash_of("writer");
  out.run = {Id128::hash_of("run"), "project", "label", kFirstUs};
  return out;
}

std::string sound_database(const Scratch& scratch, const WriterIdentity& who) {
  auto db = WriterDb::create(scratch.path(), who);
  if (!db.ok()) std::abort();
  const std::string path = (*db)->path();
  for (int64_t first = 0; first < kRows; first += kFrameRows) {
    Frame frame;
    frame.writer = who.writer;
    frame.seq = (*db)->last_seq() + 1;
    if (first == 0) frame.defs = {{1, ValueType::kFloat64, "loss"}};
    Block block;
    block.series = {1};
    block.types = {ValueType::kFloat64};
    block.values.resize(1);
    for (int64_t step = first; step < first + kFrameRows; ++step) {
      block.steps.push_back(step);
      block.times_us.push_back(kFirstUs + step);
      block.values[0].push_back(bits_of(value_at(step)));
    }
    frame.blocks = {block};
    if (!(*db)->append({{frame.seq, encode_frame(frame), {}}}, false).ok()) std::abort();
    if (first + 2 * kFrameRows == kRows)
      while ((*db)->compact(UINT64_MAX)) continue;
  }
  if (!(*db)->finish(0).ok()) std::abort();
  const auto bytes = read_file(path, 16 << 20);
  if (!bytes.ok()) std::abort();
  return *bytes;
}

std::string changed(std::string bytes, ByteReader* in) {
  if (in->u8() % 8 == 0) bytes.resize(std::min<size_t>(bytes.size(), in->u32() % (bytes.size() + 1)));
  while (in->ok() && !in->at_end() && !bytes.empty()) {
    const uint32_t place = in->u32();
    // Most of the file is data of segments; SQLite's own data is at the start of pages.
    const size_t at = (place & 1) != 0 ? place / 2 % bytes.size() : place / 256 * 4096 % bytes.size() + place / 2 % 128;
    const std::string_view what = in->bytes(std::min<size_t>(1 + in->u8() % 8, in->remaining()));
    for (size_t i = 0; i < what.size() && at + i < bytes.size(); ++i) bytes[at + i] = what[i];
  }
  return bytes;
}

// Rows of the one metric there was.
void check_rows(const RunFolder& folder) {
  auto run = RunView::open(folder);
  if (!run.ok()) return;
  const auto rows = (*run)->history("loss", true);
  if (!rows.ok() || rows->type != ValueType::kFloat64) return;
  for (size_t i = 0; i < rows->size(); ++i) {
    const int64_t step = rows->steps[i];
    if (step < 0 || step >= kRows || rows->row_bits(i) != bits_of(value_at(step))) std::abort();
    if (rows->times_us[i] != kFirstUs + step) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  static const WriterIdentity who = writer_of_run();
  static const std::string sound = sound_database(scratch, who);
  ::setenv("TRACKER_SHM_DIR", scratch.file("journals").c_str(), 1);
  scratch.write(kRunFile, run_document(who.run));
  for (const char* end : {"-wal", "-shm"}) ::unlink(scratch.file(who.writer.hex() + ".db" + end).c_str());
  ByteReader in({reinterpret_cast<const char*>(data), size});
  scratch.write(who.writer.hex() + ".db", changed(sound, &in));
  const RunFolder folder{who.run, scratch.path(), ""};
  check_rows(folder);
  read_run(folder);
  return 0;
}
