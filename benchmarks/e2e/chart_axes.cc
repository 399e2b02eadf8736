// SPDX-License-Identifier: MIT
// Question: what do charts over time and over another metric cost, in CPU time and in memory?
// Workload: one run of 10^7 noisy float32 points with a step each, an int64 metric "tokens" that rises and a float32
// metric "loss/smooth" that mostly falls, all three logged by one call; written through the classes of the store. A
// chart is query_chart() of an open run, 2,000 pixels. "in memory": the same with every row decoded at once. Memory is
// the peak of this process less what it had before (VmHWM, reset by /proc/self/clear_refs). At the end both charts are
// held against each other.
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>

#include "base/fs.h"
#include "harness.h"
#include "query/chart/chart_query.h"
#include "storage/database/writer_db.h"
#include "storage/store/store.h"
#include "values.h"

namespace {

using namespace tracker::internal;

constexpr size_t kRows = 10'000'000;
constexpr size_t kFrameRows = 8192;
constexpr int kRepeats = 7;

double status_mib(const char* name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name)) return std::atof(line.c_str() + std::string(name).size()) / 1024;
  return 0;
}

RunFolder write_run(Store* store) {
  auto run = store->create_run("bench", "axes", Id128::hash_of("axes"));
  bench::Report::require(run.ok(), "a run can be made");
  WriterIdentity identity = this_process();
  identity.writer = Id128::hash_of("axes");
  identity.store = store->id();
  identity.run = run->identity;
  auto db = WriterDb::create(run->path, identity);
  bench::Report::require(db.ok(), "a database can be made");
  const std::pair<const char*, ValueType> series[] = {
      {"loss", ValueType::kFloat32}, {"tokens", ValueType::kInt64}, {"loss/smooth", ValueType::kFloat32}};
  bench::Values values;
  double smooth = 2.5;
  uint64_t seq = 0;
  for (size_t first = 0; first < kRows; first += kFrameRows) {
    Frame frame;
    frame.writer = identity.writer;
    frame.seq = ++seq;
    Block block;
    block.values.resize(std::size(series));
    for (uint32_t id = 1; id <= std::size(series); ++id) {
      if (seq == 1) frame.defs.push_back({id, series[id - 1].second, series[id - 1].first});
      block.series.push_back(id);
      block.types.push_back(series[id - 1].second);
    }
    for (size_t row = first; row < std::min(kRows, first + kFrameRows); ++row) {
      const double loss = values.loss(row);
      smooth += (loss - smooth) / 1000;
      block.steps.push_back(static_cast<int64_t>(row));
      block.times_us.push_back(values.time(row));
      block.values[0].push_back(bits_of(static_cast<float>(loss)));
      block.values[1].push_back(row * 512);
      block.values[2].push_back(bits_of(static_cast<float>(smooth)));
    }
    frame.blocks.push_back(std::move(block));
    bench::Report::require((*db)->append({{seq, encode_frame(frame), {}}}, false).ok(), "a commit works");
    while ((*db)->compaction_due(UINT64_MAX) && (*db)->compact(UINT64_MAX)) continue;
  }
  bench::Report::require((*db)->finish(60'000).ok(), "the writer ends");
  return *run;
}

template <typename X>
bool same_cells(const ChartResult& a, const ChartResult& b) {
  const auto& x = std::get<Chart<X>>(a.chart).cells;
  const auto& y = std::get<Chart<X>>(b.chart).cells;
  return a.rows == b.rows && std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& c, const auto& d) {
           return c.x0 == d.x0 && c.x1 == d.x1 && c.first == d.first && c.last == d.last && c.min == d.min &&
                  c.max == d.max && c.count == d.count && std::fabs(c.sum - d.sum) <= 1e-9 * std::fabs(d.sum);
         });
}

ChartResult measure(bench::Report* report, RunView* view, const std::string& what, const ChartQuery& query) {
  ChartResult out;
  std::vector<double> cpu, memory;
  for (int i = 0; i < kRepeats; ++i) {
    out = ChartResult();
    ::malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;
    const double before = status_mib("VmRSS:");
    const uint64_t begin = bench::thread_cpu_ns();
    auto result = query_chart(view, query);
    cpu.push_back(static_cast<double>(bench::thread_cpu_ns() - begin) / 1e6);
    memory.push_back(status_mib("VmHWM:") - before);
    bench::Report::require(result.ok(), "there is a chart");
    out = std::move(*result);
  }
  report->add({what + ", CPU", "ms", cpu, 0});
  report->add({what + ", memory", "MiB", memory, 0});
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("chart_axes", argc, argv);
  const bench::TemporaryStore folder;
  auto store = Store::open_or_create(folder.path() + "/store");
  bench::Report::require(store.ok(), "a store can be made");
  const RunFolder run = write_run(&*store);
  auto view = RunView::open(run);
  bench::Report::require(view.ok() && (*view)->points() == 3 * kRows, "every point arrived");
  for (const std::string x : {"time", "tokens", "loss/smooth"}) {
    ChartQuery query{.metric = "loss", .axis = x == "time" ? ChartAxis::kTime : ChartAxis::kMetric};
    if (x != "time") query.x_metric = x;
    const ChartResult quick = measure(&report, view->get(), "over " + x, query);
    query.decode_all = true;
    const ChartResult slow = measure(&report, view->get(), "over " + x + ", in memory", query);
    bench::Report::require(x == "time" ? same_cells<int64_t>(quick, slow) : same_cells<double>(quick, slow),
                           "the cells are those of all rows");
  }
  return report.write();
}
