// SPDX-License-Identifier: MIT
// Question: how long does a chart of 2,000 pixels take in the core, whatever the length of the series and the zoom,
// over steps and over time?
// Workload: one series of 10^8 noisy float32 points, and 20 series of 10^7 that are logged together, written through
// the classes of the store (frames, commits, compaction between them) as the store thread does. A chart is the call
// query_chart() of an open run: it opens the database, reads and closes it again. The first one lists the segments and
// reads the coarsest levels, which the next ones remember; it is measured by itself, without opening the run. "cold":
// the file was dropped from the page cache (posix_fadvise), where the kernel does so; the rest is warm. Zooms lie
// around the middle and begin at an odd step. Where the machine is busy the CPU time of the thread that asks is what to
// look at. At the end the chart of each zoom is held against the one that decodes every row. Then an attempt resumes
// the 10^8 points in their middle and goes on: what the summary, which rests on what the resume leaves, costs an opened
// run and, after each further commit, one that stays open.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>

#include "base/fs.h"
#include "harness.h"
#include "query/chart/chart_query.h"
#include "storage/database/writer_db.h"
#include "storage/store/store.h"
#include "values.h"

namespace {

using namespace tracker::internal;

constexpr uint32_t kPixels = 2000;
constexpr int kRepeats = 15;
constexpr int64_t kZooms[] = {1, 4, 16, 50, 64, 100, 256, 4096};  // the narrowest cells with levels: 1/64 of 10^8

struct LongRun {
  RunFolder folder;
  std::string path;
  int64_t rows = 0, time_first_us = 0, time_last_us = 0;
};

Frame frame_of(const WriterIdentity& identity, uint64_t seq, uint32_t series, int64_t first, size_t rows,
               bench::Values* values, const std::vector<float>& noise) {
  Frame frame;
  frame.writer = identity.writer;
  frame.seq = seq;
  Block block;
  block.values.resize(series);
  for (uint32_t id = 1; id <= series; ++id) {
    if (seq == 1) frame.defs.push_back({id, ValueType::kFloat32, "loss/" + std::to_string(id)});
    block.series.push_back(id);
    block.types.push_back(ValueType::kFloat32);
    block.values[id - 1].reserve(rows);
  }
  for (size_t i = 0; i < rows; ++i) {
    const int64_t step = first + static_cast<int64_t>(i);
    block.steps.push_back(step);
    block.times_us.push_back(values->time(static_cast<size_t>(step)));
    const double mean = 0.3 + 2.2 * std::exp(-static_cast<double>(step) / 1e7);
    for (uint32_t s = 0; s < series; ++s)
      block.values[s].push_back(
          bits_of(static_cast<float>(mean * noise[(static_cast<size_t>(step) * 7 + s * 9973) % noise.size()])));
  }
  frame.blocks.push_back(std::move(block));
  return frame;
}

LongRun write_run(Store* store, const std::string& name, uint32_t series, int64_t rows, size_t frame_rows,
                  std::vector<double>* step_ms) {
  LongRun out;
  auto run = store->create_run("bench", name, Id128::hash_of(name));
  bench::Report::require(run.ok(), "a run can be made");
  out.folder = *run;
  out.rows = rows;
  WriterIdentity identity = this_process();
  identity.writer = Id128::hash_of(name);
  identity.store = store->id();
  identity.run = run->identity;
  auto db = WriterDb::create(run->path, identity);
  bench::Report::require(db.ok(), "a database can be made");
  out.path = (*db)->path();
  bench::Values values;
  std::vector<float> noise(1'000'003);
  for (float& v : noise) v = static_cast<float>(1 + 0.025 * (values.uniform() + values.uniform() - 1));
  uint64_t seq = 0;
  for (int64_t first = 0; first < rows; first += static_cast<int64_t>(frame_rows)) {
    const size_t count = std::min<size_t>(frame_rows, static_cast<size_t>(rows - first));
    const Frame frame = frame_of(identity, ++seq, series, first, count, &values, noise);
    if (first == 0) out.time_first_us = frame.blocks[0].times_us.front();
    out.time_last_us = frame.blocks[0].times_us.back();
    const FrameRecord record{seq, encode_frame(frame), {}};
    bench::Report::require((*db)->append({record}, false).ok(), "a commit works");
    while ((*db)->compaction_due(UINT64_MAX)) {
      const uint64_t begin = bench::thread_cpu_ns();
      if (!(*db)->compact(UINT64_MAX)) break;
      step_ms->push_back(static_cast<double>(bench::thread_cpu_ns() - begin) / 1e6);
    }
  }
  bench::Report::require((*db)->finish(60'000).ok(), "the writer ends");
  return out;
}

void drop_from_page_cache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  bench::Report::require(fd >= 0, "the database opens");
  ::fsync(fd);
  (void)::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
}

std::unique_ptr<RunView> open(const LongRun& run) {
  auto view = RunView::open(run.folder);
  bench::Report::require(view.ok(), "the run opens");
  return std::move(*view);
}

ChartResult chart(RunView* view, const ChartQuery& query) {
  auto result = query_chart(view, query);
  bench::Report::require(result.ok(), "there is a chart");
  return std::move(*result);
}

struct Taken {
  double wall_ms = 0, cpu_ms = 0;
};

Taken time_chart(RunView* view, const ChartQuery& query) {
  const uint64_t begin = bench::wall_ns(), cpu = bench::thread_cpu_ns();
  bench::keep(chart(view, query).rows);
  return {static_cast<double>(bench::wall_ns() - begin) / 1e6, static_cast<double>(bench::thread_cpu_ns() - cpu) / 1e6};
}

ChartQuery zoomed(const LongRun& run, int64_t zoom, ChartAxis axis) {
  ChartQuery query{.metric = "loss/1", .axis = axis};
  query.pixels = kPixels;
  if (zoom == 1) return query;
  const bool by_time = axis == ChartAxis::kTime;
  const int64_t begin = by_time ? run.time_first_us : 0, range = by_time ? run.time_last_us - begin + 1 : run.rows;
  const int64_t width = range / zoom;
  query.lo_int = begin + range / 2 - width / 2 + 77;
  query.hi_int = *query.lo_int + width - 1;
  return query;
}

bool same_cells(const ChartResult& a, const ChartResult& b) {
  const auto& x = std::get<Chart<int64_t>>(a.chart).cells;
  const auto& y = std::get<Chart<int64_t>>(b.chart).cells;
  return a.rows == b.rows && std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& c, const auto& d) {
           return c.x0 == d.x0 && c.x1 == d.x1 && c.first == d.first && c.last == d.last && c.min == d.min &&
                  c.max == d.max && c.count == d.count && std::fabs(c.sum - d.sum) <= 1e-9 * std::fabs(d.sum);
         });
}

void measure_zooms(bench::Report* report, const LongRun& run, const std::string& name, ChartAxis axis, RunView* view) {
  for (const int64_t zoom : kZooms) {
    ChartQuery query = zoomed(run, zoom, axis);
    std::vector<double> wall, cpu;
    for (int i = 0; i < kRepeats; ++i) {
      const Taken taken = time_chart(view, query);
      wall.push_back(taken.wall_ms);
      cpu.push_back(taken.cpu_ms);
    }
    const std::string what = zoom == 1 ? ": all" : ": 1/" + std::to_string(zoom) + " of it";
    std::vector<double> first;
    for (int i = 0; i < kRepeats; ++i) first.push_back(time_chart(open(run).get(), query).cpu_ms);
    report->add({name + what + ", CPU", "ms", cpu, 5});
    report->add({name + what + ", first chart of an opened run, CPU", "ms", first, 5});
    report->add({name + what + ", wall", "ms", wall, 0});
    const ChartResult quick = chart(view, query);
    query.decode_all = true;
    const uint64_t begin = bench::thread_cpu_ns();
    const ChartResult slow = chart(view, query);
    const double slow_ms = static_cast<double>(bench::thread_cpu_ns() - begin) / 1e6;
    if (zoom == 1 || zoom == 64) report->add({name + what + ", every row decoded, CPU", "ms", {slow_ms}, 0});
    bench::Report::require(same_cells(quick, slow), "the cells are those of all rows");
  }
}

void measure(bench::Report* report, const LongRun& run, const std::string& name) {
  std::vector<double> cold;
  for (int i = 0; i < 3; ++i) {
    drop_from_page_cache(run.path);
    auto view = open(run);
    cold.push_back(time_chart(view.get(), zoomed(run, 1, ChartAxis::kStep)).wall_ms);
  }
  report->add({name + ": all, cold, wall", "ms", cold, 0});
  std::vector<double> opening;
  for (int i = 0; i < kRepeats; ++i) {
    const uint64_t begin = bench::wall_ns();
    bench::keep(open(run).get());
    opening.push_back(static_cast<double>(bench::wall_ns() - begin) / 1e6);
  }
  report->add({name + ": opening the run", "ms", opening, 0});
  auto view = open(run);
  measure_zooms(report, run, name, ChartAxis::kStep, view.get());
  measure_zooms(report, run, name + " over time", ChartAxis::kTime, view.get());
  const auto points = static_cast<double>(view->points());
  report->add(
      {name + ": the file", "B/point", {static_cast<double>(std::filesystem::file_size(run.path)) / points}, 0});
  bench::Report::require(view->problems().empty(), "nothing is damaged");
}

double time_summary(RunView* view) {
  const uint64_t cpu = bench::thread_cpu_ns();
  bench::keep(view->summary());
  return static_cast<double>(bench::thread_cpu_ns() - cpu) / 1e6;
}

void measure_resume(bench::Report* report, const Store& store, const LongRun& run, const std::string& name) {
  WriterIdentity identity = this_process();
  identity.writer = Id128::hash_of("resumed");
  identity.store = store.id();
  identity.run = run.folder.identity;
  identity.attempt = 2;
  identity.resume_step = run.rows / 2 + 77;
  auto db = WriterDb::create(run.folder.path, identity);
  bench::Report::require(db.ok(), "a database can be made");
  bench::Values values;
  const std::vector<float> noise(1000, 1.0f);
  int64_t step = *identity.resume_step + 1;
  uint64_t seq = 0;
  const auto go_on = [&] {
    const Frame frame = frame_of(identity, ++seq, 1, step, 1000, &values, noise);
    step += 1000;
    bench::Report::require((*db)->append({{seq, encode_frame(frame), {}}}, false).ok(), "a commit works");
  };
  go_on();
  std::vector<double> first, next;
  for (int i = 0; i < kRepeats; ++i) first.push_back(time_summary(open(run).get()));
  auto view = open(run);
  bench::keep(view->summary());
  for (int i = 0; i < kRepeats; ++i) {
    go_on();
    bench::Report::require(view->refresh().ok(), "a snapshot can be taken");
    next.push_back(time_summary(view.get()));
  }
  report->add({name + " behind a resume: first summary of an opened run, CPU", "ms", first, 0});
  report->add({name + " behind a resume: summary after a commit, CPU", "ms", next, 0});
  const auto shown = static_cast<uint64_t>(run.rows / 2 + 78) + 1000 * seq;
  bench::Report::require(view->metrics()[0].shown.points == shown, "all rows that are shown count");
  bench::Report::require(view->problems().empty(), "nothing is damaged");
}
}  // namespace

int main(int argc, char** argv) {
  bench::Report report("chart_far", argc, argv);
  const bench::TemporaryStore folder;
  auto store = Store::open_or_create(folder.path() + "/store");
  bench::Report::require(store.ok(), "a store can be made");
  std::vector<double> step_ms;
  const LongRun one = write_run(&*store, "one", 1, 100'000'000, 8192, &step_ms);
  measure(&report, one, "1 x 100 M");
  measure_resume(&report, *store, one, "1 x 100 M");
  report.add({"1 series: a step of compaction, CPU", "ms", step_ms, 20});
  step_ms.clear();
  std::filesystem::remove(one.path);
  const LongRun many = write_run(&*store, "many", 20, 10'000'000, 1024, &step_ms);
  measure(&report, many, "20 x 10 M");
  report.add({"20 series: a step of compaction, CPU", "ms", step_ms, 20});
  return report.write();
}
