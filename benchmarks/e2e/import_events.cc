// SPDX-License-Identifier: MIT
// Question: how fast do TensorBoard's event files become runs? Workload: 10 million scalars of 10 tags in one file, as
// SummaryWriter writes them (one event a value, float32 of a noisy loss, a time each); imported into an empty store,
// then once more with nothing new. Target: 1 M points/s. Informational by the clock: dominated by processor and disk.
#include <sys/resource.h>

#include <fstream>
#include <random>
#include <string>

#include "exchange/event_file.h"
#include "exchange/import_source.h"
#include "harness.h"
#include "query/view/run_view.h"

namespace {

using namespace tracker::internal;

constexpr int kTags = 10;
constexpr int64_t kPointsATag = 1'000'000;

void write_events(const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  std::mt19937_64 random(1);
  std::normal_distribution<double> noise(0, 0.01);
  std::string piece;
  for (int64_t step = 0; step < kPointsATag; ++step) {
    for (int tag = 0; tag < kTags; ++tag)
      append_scalar_event("train/metric" + std::to_string(tag), ValueType::kFloat32,
                          bits_of(static_cast<float>(1.0 / (1 + 1e-5 * static_cast<double>(step)) + noise(random))),
                          step, 1.7e9 + static_cast<double>(step) * 0.01, &piece);
    if (piece.size() < (4u << 20)) continue;
    file << piece;
    piece.clear();
  }
  file << piece;
}

double import_s(const std::string& store_path, const std::string& source, uint64_t points, double* cpu_s) {
  const uint64_t wall = bench::wall_ns(), cpu = bench::thread_cpu_ns();
  auto store = ImportStore::open(store_path);
  bench::Report::require(store.ok(), "the store is opened");
  const auto files = look_for_files(source);
  bench::Report::require(files.ok() && import_tensorboard(store->get(), {source, "", "bench"}, *files, {}).ok(),
                         "the files are read");
  bench::Report::require((*store)->report().runs.at(0).points == points, "the points are there");
  *cpu_s = static_cast<double>(bench::thread_cpu_ns() - cpu) / 1e9;
  return static_cast<double>(bench::wall_ns() - wall) / 1e9;
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("import_events", argc, argv);
  const bench::TemporaryStore folder;
  const std::string source = folder.path() + "/source", store = folder.path() + "/store";
  bench::Report::require(make_dirs(source).ok(), "a folder is made");
  write_events(source + "/events.out.tfevents.1700000000.host.1.0");
  constexpr double kPoints = 1.0 * kTags * kPointsATag;
  double cpu_s = 0;
  const double wall_s = import_s(store, source, kTags * kPointsATag, &cpu_s);
  report.add({"10 million points, by the clock", "M points/s", {kPoints / wall_s / 1e6}, 1.0});
  report.add({"10 million points, a core", "M points/s", {kPoints / cpu_s / 1e6}});
  const double again_s = import_s(store, source, 0, &cpu_s);
  report.add({"the same with nothing new", "M points/s", {kPoints / again_s / 1e6}});
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  report.add({"memory at most, of the whole program", "MiB", {static_cast<double>(usage.ru_maxrss) / 1024}});
  auto stored = Store::open(store);
  bench::Report::require(stored.ok() && stored->list_runs().size() == 1, "one run is there");
  auto run = RunView::open(stored->list_runs().front());
  bench::Report::require(run.ok() && (*run)->points() == kTags * kPointsATag, "all points are stored");
  return report.write();
}
