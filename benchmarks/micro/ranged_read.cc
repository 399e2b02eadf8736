// SPDX-License-Identifier: MIT
// Question: what do 1,000 rows out of a long series cost, chosen by steps or by times, against all of them?
// Workload: a run of one noisy float32 series of 10^7 points, and one of 20 series of 10^6 that are logged together,
// written and compacted through the classes of the store. RunView::read() of one series of an open run, each time
// somewhere else; the middle and the slowest of kRepeats. At the end the rows are held against those of all.
#include <algorithm>
#include <string>

#include "frames.h"
#include "harness.h"
#include "query/rows/selection.h"
#include "query/view/run_view.h"
#include "storage/database/writer_db.h"
#include "storage/store/store.h"
#include "values.h"

namespace {

using namespace tracker::internal;

constexpr size_t kFrameRows = 8192;
constexpr int64_t kWindow = 1000;
constexpr int kRepeats = 101;

// Of frames.h as many series as asked for.
Frame frame_of(const WriterIdentity& identity, uint64_t seq, size_t series, size_t first, size_t rows,
               bench::Values* values) {
  Frame frame = bench::begin_frame(identity, seq, ValueType::kFloat32);
  Block& block = frame.blocks.front();
  if (seq == 1) frame.defs.resize(series);
  block.series.resize(series);
  block.types.resize(series);
  block.values.resize(series);
  for (size_t row = first; row < first + rows; ++row) {
    block.steps.push_back(static_cast<int64_t>(row));
    block.times_us.push_back(values->time(row));
    for (auto& column : block.values) column.push_back(bits_of(static_cast<float>(values->loss(row))));
  }
  return frame;
}

RunFolder write_run(Store* store, const std::string& name, size_t series, size_t rows) {
  auto run = store->create_run("bench", name, Id128::hash_of(name));
  bench::Report::require(run.ok(), "a run can be made");
  WriterIdentity identity = this_process();
  identity.writer = Id128::hash_of(name);
  identity.store = store->id();
  identity.run = run->identity;
  auto db = WriterDb::create(run->path, identity);
  bench::Report::require(db.ok(), "a database can be made");
  bench::Values values;
  uint64_t seq = 0;
  for (size_t first = 0; first < rows; first += kFrameRows) {
    const Frame frame = frame_of(identity, ++seq, series, first, std::min(kFrameRows, rows - first), &values);
    bench::Report::require((*db)->append({{seq, encode_frame(frame), {}}}, false).ok(), "a commit works");
    while ((*db)->compaction_due(UINT64_MAX) && (*db)->compact(UINT64_MAX)) continue;
  }
  bench::Report::require((*db)->finish(60'000).ok(), "the writer ends");
  return *run;
}

History read(RunView* view, const Selection& selection, std::vector<double>* cpu_ms) {
  const uint64_t begin = bench::thread_cpu_ns();
  auto rows = view->read(selection);
  cpu_ms->push_back(static_cast<double>(bench::thread_cpu_ns() - begin) / 1e6);
  bench::Report::require(rows.ok(), "there are rows");
  return std::move(rows->front());
}

bool same_rows(const History& part, const History& all, size_t first) {
  const auto same = [first](const auto& some, const auto& every) {
    return std::equal(some.begin(), some.end(), every.begin() + static_cast<std::ptrdiff_t>(first));
  };
  return part.size() == kWindow && same(part.steps, all.steps) && same(part.bits, all.bits) &&
         same(part.times_us, all.times_us);
}

void measure(bench::Report* report, Store* store, const std::string& name, size_t series, size_t rows) {
  const RunFolder run = write_run(store, name, series, rows);
  auto view = RunView::open(run);
  bench::Report::require(view.ok() && (*view)->points() == series * rows, "every point arrived");
  Selection selection;
  selection.metrics = {"layer/" + std::to_string(series) + "/loss"};
  std::vector<double> whole;
  History all;
  for (int i = 0; i < 5; ++i) all = read(view->get(), selection, &whole);
  report->add({name + ": all rows", "ms cpu", whole, 0});
  bench::Values values;
  for (const bool by_time : {false, true}) {
    std::vector<double> cpu;
    for (int i = 0; i < kRepeats; ++i) {
      const size_t first = static_cast<size_t>(values.uniform() * static_cast<double>(rows - kWindow));
      selection.steps.reset();
      selection.times_us.reset();
      const std::vector<int64_t>& x = by_time ? all.times_us : all.steps;
      (by_time ? selection.times_us : selection.steps) = Int64Range{x[first], x[first + kWindow - 1]};
      bench::Report::require(same_rows(read(view->get(), selection, &cpu), all, first), "the rows are those of all");
    }
    report->add({name + (by_time ? ": 1,000 by time" : ": 1,000 by step"), "ms cpu", cpu, 1});
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("ranged_read", argc, argv);
  const bench::TemporaryStore folder;
  auto store = Store::open_or_create(folder.path() + "/store");
  bench::Report::require(store.ok(), "a store can be made");
  measure(&report, &*store, "1 series of 10^7", 1, 10'000'000);
  measure(&report, &*store, "20 series of 10^6", 20, 1'000'000);
  return report.write();
}
