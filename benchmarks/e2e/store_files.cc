// SPDX-License-Identifier: MIT
// Question: what do .frames files cost beside a live database, and what does it cost to make the one of the other?
// Informational. Workload: 2,000 commits of one frame of 20 series x 100 rows each (what a drain of 20,000 points/s
// yields), every tenth durable, on the local disk of this machine: network mounts are not measured here.
#include <filesystem>
#include <functional>
#include <string>

#include "base/fs.h"
#include "frames.h"
#include "harness.h"
#include "storage/database/writer_db.h"
#include "storage/frames/database_build.h"
#include "storage/frames/frames_file.h"
#include "storage/writer/writer_reader.h"

namespace {

using namespace tracker::internal;

constexpr uint64_t kCommits = 2000;
using bench::kSeries;
constexpr int64_t kRows = 100;

WriterIdentity identity_of(const char* name) {
  WriterIdentity out = this_process();
  out.writer = Id128::hash_of(name);
  out.store = out.run.uid = Id128::hash_of("bench");
  out.run.project = out.run.id = "bench";
  return out;
}

FrameRecord frame_of(const WriterIdentity& identity, uint64_t seq) {
  Frame frame = bench::begin_frame(identity, seq, ValueType::kFloat32);
  Block& block = frame.blocks[0];
  for (uint32_t id = 1; id <= kSeries; ++id)
    block.values[id - 1].assign(kRows, (seq * 2654435761u + id * 40503u) >> 3 & ~0u);
  for (int64_t row = 0; row < kRows; ++row) {
    block.steps.push_back(static_cast<int64_t>(seq) * kRows + row);
    block.times_us.push_back(static_cast<int64_t>(seq) * 100'000 + row * 1000);
    for (uint32_t id = 0; id < kSeries; ++id)
      block.values[id][static_cast<size_t>(row)] ^= static_cast<uint64_t>(row * 7919);
  }
  return {seq, encode_frame(frame), {{7, seq}}};
}

double us_since(uint64_t start_ns) { return static_cast<double>(bench::wall_ns() - start_ns) / 1e3; }

void commits(const std::string& what, WriterStore* store, const WriterIdentity& identity, bench::Report* report) {
  std::vector<double> plain, durable;
  for (uint64_t seq = 1; seq <= kCommits; ++seq) {
    const FrameRecord record = frame_of(identity, seq);
    const uint64_t start = bench::wall_ns();
    bench::Report::require(store->append({record}, seq % 10 == 0).ok(), "a commit works");
    (seq % 10 == 0 ? durable : plain).push_back(us_since(start));
  }
  report->add({what + ": commit", "us", plain});
  report->add({what + ": commit with fsync", "us", durable});
}

void timed(const std::string& what, bench::Report* report, const std::function<bool()>& body) {
  const uint64_t start = bench::wall_ns();
  bench::Report::require(body(), what.c_str());
  report->add({what, "ms", {us_since(start) / 1e3}});
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("store_files", argc, argv);
  const bench::TemporaryStore store;
  const std::string folder = absolute_path(store.path());
  const WriterIdentity for_sqlite = identity_of("sqlite"), for_frames = identity_of("frames");
  auto sqlite = WriterDb::create(folder, for_sqlite);
  auto frames = FramesFile::open_or_create(folder, for_frames);
  bench::Report::require(sqlite.ok() && frames.ok(), "both can be made");
  commits("SQLite", sqlite->get(), for_sqlite, &report);
  commits(".frames", frames->get(), for_frames, &report);
  const std::string path = (*frames)->path();
  auto reader = WriterReader::open(path);
  const auto look = [&] {
    auto snapshot = (*reader)->snapshot();
    return snapshot.ok() && snapshot->points == kCommits * kSeries * kRows;
  };
  timed(".frames: first look of a reader", &report, look);
  timed(".frames: a later look, nothing new", &report, look);
  const double mib = static_cast<double>(std::filesystem::file_size(path)) / 1048576.0;
  report.add({".frames: size", "MiB", {mib}});
  timed(".frames: the database is built", &report, [&] { return build_database(path).ok(); });
  return report.write();
}
