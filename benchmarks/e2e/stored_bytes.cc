// SPDX-License-Identifier: MIT
// Question: how many bytes does a point take on disk, everything included, and what does compaction cost on the way?
// Workload: 20 series logged together, frames of 100 calls (what a drain of 1,000 calls a second yields), compaction
// steps between the commits as the store thread takes them, then the end of the writer. Values: values.h. "stored" is
// the size of the finished database; "SQLite" what of it is not in segments or frames. Byte counts do not depend on the
// machine.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>

#include "base/fs.h"
#include "frames.h"
#include "harness.h"
#include "storage/database/writer_db.h"
#include "storage/sqlite/sqlite.h"
#include "storage/writer/writer_reader.h"
#include "values.h"

namespace {

using namespace tracker::internal;

using bench::kSeries;
constexpr size_t kFrameRows = 100;

using ValueAt = std::function<uint64_t(size_t row, uint32_t series)>;

Frame frame_of(const WriterIdentity& identity, uint64_t seq, const bench::SeriesTypes& types, bench::Values* values,
               const ValueAt& at) {
  Frame frame = bench::begin_frame(identity, seq, types);
  Block& block = frame.blocks[0];
  for (size_t i = 0; i < kFrameRows; ++i) {
    const size_t row = (seq - 1) * kFrameRows + i;
    block.steps.push_back(static_cast<int64_t>(row));
    block.times_us.push_back(values->time(row));
    for (uint32_t s = 0; s < kSeries; ++s) block.values[s].push_back(at(row, s));
  }
  return frame;
}

double bytes_in(const std::string& path, const char* sql) {
  auto db = Sqlite::open(path, SqliteOpen::kRead, 1000);
  bench::Report::require(db.ok(), "the database opens");
  return static_cast<double>(*db->query_int(sql));
}

struct Costs {
  std::vector<double> step_ms;
  double cpu_ns = 0;
};

void compact(WriterDb* db, Costs* costs) {
  while (db->compaction_due(UINT64_MAX)) {
    const uint64_t begin = bench::wall_ns(), cpu = bench::thread_cpu_ns();
    const bool more = db->compact(UINT64_MAX);
    costs->step_ms.push_back(static_cast<double>(bench::wall_ns() - begin) / 1e6);
    costs->cpu_ns += static_cast<double>(bench::thread_cpu_ns() - cpu);
    if (!more) return;
  }
}

void measure(bench::Report* report, const std::string& folder, const std::string& name, const bench::SeriesTypes& types,
             size_t rows, double target, bench::Values* values, const ValueAt& at) {
  const std::string what = name + " x " + std::to_string(rows);
  WriterIdentity identity = this_process();
  identity.writer = Id128::hash_of(what);
  identity.store = identity.run.uid = Id128::hash_of("bench");
  identity.run.project = identity.run.id = "bench";
  auto db = WriterDb::create(folder, identity);
  bench::Report::require(db.ok(), "a database can be made");
  const std::string path = (*db)->path();
  Costs costs;
  for (uint64_t seq = 1; seq <= rows / kFrameRows; ++seq) {
    const FrameRecord record{seq, encode_frame(frame_of(identity, seq, types, values, at)), {}};
    bench::Report::require((*db)->append({record}, seq % 10 == 0).ok(), "a commit works");
    compact(db->get(), &costs);
  }
  const uint64_t begin = bench::wall_ns();
  bench::Report::require((*db)->finish().ok(), "the writer ends");
  const double end_ms = static_cast<double>(bench::wall_ns() - begin) / 1e6;
  auto snapshot = (*WriterReader::open(path))->snapshot();
  const auto points = static_cast<double>(rows * kSeries);
  bench::Report::require(snapshot.ok() && static_cast<double>(snapshot->points) == points, "every point arrived");
  const auto file = static_cast<double>(std::filesystem::file_size(path));
  const double data = bytes_in(path,
                               "SELECT (SELECT coalesce(sum(length(data)),0) FROM segments) + "
                               "(SELECT coalesce(sum(length(data)),0) FROM frames)");
  report->add({what + ": stored", "B/point", {file / points}, target});
  report->add({what + ": of it SQLite", "B/point", {(file - data) / points}, 0});
  if (bytes_in(path, "SELECT count(*) FROM sqlite_master WHERE name='levels'") > 0)
    report->add({what + ": of that levels, their cells alone",
                 "B/point",
                 {bytes_in(path, "SELECT coalesce(sum(length(data)),0) FROM levels") / points},
                 0});
  report->add({what + ": segments", "", {bytes_in(path, "SELECT count(*) FROM segments")}, 0});
  if (!costs.step_ms.empty()) report->add({what + ": a step", "ms", costs.step_ms, 0});
  report->add({what + ": CPU of steps", "ns/point", {costs.cpu_ns / points}, 0});
  report->add({what + ": the end", "ms", {end_ms}, 0});
}

bench::SeriesTypes all_of(ValueType type) {
  bench::SeriesTypes out;
  out.fill(type);
  return out;
}

// What a training logs beside each other, ten columns twice: two noisy float32 (losses); as float64 an accuracy of four
// digits, a perplexity of three, milliseconds of one, a cosine schedule and a rate in steps; three counters (epoch,
// samples, tokens).
struct Typical {
  static constexpr uint32_t kColumns = 10, kLosses = 2, kAccuracy = 2, kPerplexity = 3, kMilliseconds = 4, kCosine = 5;
  static constexpr uint32_t kSteps = 6, kEpoch = 7, kSamples = 8;
  static bench::SeriesTypes types() {
    bench::SeriesTypes out;
    for (uint32_t s = 0; s < kSeries; ++s)
      out[s] = s % kColumns < kLosses  ? ValueType::kFloat32
               : s % kColumns < kEpoch ? ValueType::kFloat64
                                       : ValueType::kInt64;
    return out;
  }
  static uint64_t at(bench::Values* v, size_t row, uint32_t s) {
    switch (s % kColumns) {
      case kAccuracy: return bits_of(v->accuracy());
      case kPerplexity: return bits_of(v->perplexity());
      case kMilliseconds: return bits_of(v->milliseconds());
      case kCosine: return bits_of(bench::Values::cosine(row, 200'000));
      case kSteps: return bits_of(3e-4 * std::pow(0.5, std::floor(static_cast<double>(row) / 10'000)));
      case kEpoch: return row / 1000;
      case kSamples: return row * 256;
      case kColumns - 1: return row * 4096 * 256;
      default: return bits_of(static_cast<float>(v->loss(row)));
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("stored_bytes", argc, argv);
  const bench::TemporaryStore store;
  const std::string folder = absolute_path(store.path());
  bench::Values v;
  const auto f32 = [&v](size_t row, uint32_t) { return bits_of(static_cast<float>(v.loss(row))); };
  for (const size_t rows : {size_t{1200}, size_t{10'000}, size_t{100'000}}) {
    const auto target = [rows](double bytes) { return rows >= 100'000 ? bytes : 0; };
    measure(&report, folder, "20 float32", all_of(ValueType::kFloat32), rows, target(2.9), &v, f32);
    measure(&report, folder, "20 float64", all_of(ValueType::kFloat64), rows, target(6.4), &v,
            [&v](size_t row, uint32_t) { return bits_of(v.loss(row)); });
    measure(&report, folder, "20 bfloat16", all_of(ValueType::kBFloat16), rows, target(1.0), &v,
            [&](size_t row, uint32_t s) { return f32(row, s) >> 16; });
    measure(&report, folder, "20 counters", all_of(ValueType::kInt64), rows, target(0.2), &v,
            [](size_t row, uint32_t s) { return row * 32 + s; });
    measure(&report, folder, "20 constants", all_of(ValueType::kFloat64), rows, target(0.2), &v,
            [](size_t, uint32_t s) { return bits_of(0.001 * s); });
    measure(&report, folder, "20 of a training", Typical::types(), rows, target(1.4), &v,
            [&v](size_t row, uint32_t s) { return Typical::at(&v, row, s); });
  }
  return report.write();
}
