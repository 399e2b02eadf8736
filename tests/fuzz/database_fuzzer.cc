// SPDX-License-Identifier: MIT
// Goal: no rows in a writer's database, whatever their columns hold, make a reader, a chart or `verify` crash or run
// for ever. Method: the input is rows (u8 table, then a type and a value a column) that are put into a database of
// ours; data may be a sound frame or segment, which a fuzzer cannot guess.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fs.h"
#include "codec/segment.h"
#include "read_run.h"
#include "scratch.h"
#include "storage/database/levels.h"
#include "storage/database/schema.h"
#include "storage/store/run_folder.h"

using namespace tracker::internal;

namespace {

struct Table {
  const char* insert;
  int columns;
};
constexpr std::array<Table, 8> kTables = {{
    {"INSERT OR REPLACE INTO meta VALUES(?,?)", 2},
    {"INSERT OR REPLACE INTO frames VALUES(?,?,?,?,?)", 5},
    {"INSERT OR REPLACE INTO segments VALUES(?,?,?,?,?,?)", 6},
    {"INSERT OR REPLACE INTO series VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", 19},
    {"INSERT OR REPLACE INTO attributes VALUES(?,?,?,?,?,?)", 6},
    {"INSERT OR REPLACE INTO losses VALUES(?,?,?)", 3},
    {"INSERT OR REPLACE INTO journal VALUES(?,?)", 2},
    {"INSERT OR REPLACE INTO levels VALUES(?,?,?,?,?,?)", 6},
}};
constexpr std::array<std::string_view, 10> kKeys = {"identity",  "last_seq",     "points",    "frames", "frame_bytes",
                                                    "stats_seq", "heartbeat_us", "recovered", "end",    "cost"};

WriterIdentity writer_of_run() {
  WriterIdentity out;
  out.writer = Id128::hash_of("writer");
  out.run = {Id128::hash_of("run"), "project", "label", 1'700'000'000'000'000};
  return out;
}

std::string sound_frame(uint64_t seq) {
  Frame frame;
  frame.writer = writer_of_run().writer;
  frame.seq = seq;
  frame.defs = {{1, ValueType::kFloat64, "loss"}};
  Block block;
  block.series = {1};
  block.types = {ValueType::kFloat64};
  block.values.resize(1);
  for (uint64_t row = 0; row < 600; ++row) {
    block.steps.push_back(static_cast<int64_t>(seq * 600 + row));
    block.times_us.push_back(1'700'000'000'000'000 + static_cast<int64_t>(row));
    block.values[0].push_back(bits_of(static_cast<double>(row % 7)));
  }
  frame.blocks = {block};
  return encode_frame(frame);
}

std::string sound_segment(uint64_t first, uint64_t last) {
  SegmentBuilder builder(writer_of_run().writer);
  for (uint64_t seq = first; seq <= last; ++seq) {
    const std::string frame = sound_frame(seq);
    auto view = FrameView::parse(frame);
    if (!view.ok() || !builder.add(*view).ok()) std::abort();
  }
  auto out = builder.finish();
  if (!out.ok()) std::abort();
  return *out;
}

void bind(ByteReader* in, Statement* row) {
  static const std::vector<std::string> sound = {sound_frame(1), sound_frame(2), sound_segment(1, 1),
                                                 sound_segment(1, 3), sound_segment(2, 2)};
  switch (in->u8() % 7) {
    case 0: row->bind(static_cast<int64_t>(in->u64())); break;
    case 1: row->bind(int64_t{in->u8()}); break;
    case 2: row->bind(kKeys[in->u8() % kKeys.size()]); break;
    case 3: row->bind(in->bytes(std::min<size_t>(in->u8(), in->remaining()))); break;
    case 4: row->bind_blob(in->bytes(std::min<size_t>(in->u16(), in->remaining()))); break;
    case 5: row->bind_null(); break;
    default: row->bind_blob(sound[in->u8() % sound.size()]); break;
  }
}

void put_rows(const std::string& path, std::string_view input) {
  auto db = Sqlite::open(path, SqliteOpen::kDetached, 0);
  if (!db.ok() || !db->exec("PRAGMA journal_mode=OFF").ok() || !db->exec("PRAGMA synchronous=OFF").ok()) std::abort();
  ByteReader in(input);
  if (in.u8() % 2 == 0 && !db->exec(kLevelsSchema).ok()) std::abort();
  while (!in.at_end()) {
    const Table& table = kTables[in.u8() % kTables.size()];
    auto row = db->prepare(table.insert);
    if (!row.ok()) continue;  // a database without levels
    for (int i = 0; i < table.columns; ++i) bind(&in, &*row);
    (void)row->run();  // a null that may not be
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  static const WriterIdentity identity = writer_of_run();
  static const std::string empty = [] {
    const std::string path = scratch.file("empty");
    if (!create_detached_database(path, identity).ok()) std::abort();
    const auto bytes = read_file(path, 1 << 20);
    remove_file(path);
    if (!bytes.ok()) std::abort();
    return *bytes;
  }();
  ::setenv("TRACKER_SHM_DIR", scratch.file("journals").c_str(), 1);
  scratch.write(kRunFile, run_document(identity.run));
  put_rows(scratch.write(identity.writer.hex() + ".db", empty), {reinterpret_cast<const char*>(data), size});
  read_run({identity.run, scratch.path(), ""});
  return 0;
}
