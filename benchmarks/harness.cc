// SPDX-License-Identifier: MIT
#include "harness.h"

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>

namespace bench {
namespace {

uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

std::map<std::string, uint64_t> library_threads() {
  std::map<std::string, uint64_t> out;
  std::error_code gone;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", gone)) {
    std::string name;
    std::ifstream comm(task.path() / "comm");
    uint64_t on_cpu = 0;
    std::ifstream schedstat(task.path() / "schedstat");
    if (std::getline(comm, name) && name.rfind("trk-", 0) == 0 && schedstat >> on_cpu) out[task.path()] = on_cpu;
  }
  return out;
}

}  // namespace

uint64_t wall_ns() { return clock_ns(CLOCK_MONOTONIC); }
uint64_t thread_cpu_ns() { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

LibraryCpu::LibraryCpu() : start_(library_threads()) {}
double LibraryCpu::ns() const {
  uint64_t sum = 0;
  for (const auto& [thread, now] : library_threads()) {
    const auto before = start_.find(thread);
    sum += now - (before == start_.end() ? 0 : before->second);
  }
  return static_cast<double>(sum);
}

TemporaryStore::TemporaryStore() {
  // Beside the build, on a real disk: /tmp may be memory.
  const char* base = std::getenv("BENCH_DIR");
  std::string pattern = std::string(base != nullptr ? base : ".") + "/bench-XXXXXX";
  Report::require(mkdtemp(pattern.data()) != nullptr, "a folder can be made; BENCH_DIR says where");
  path_ = pattern;
}
TemporaryStore::~TemporaryStore() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}
uint64_t TemporaryStore::bytes() const {
  uint64_t sum = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(path_))
    if (file.is_regular_file()) sum += file.file_size();
  return sum;
}

double percentile(std::vector<double> samples, double p) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const double at = p / 100 * static_cast<double>(samples.size() - 1);
  return samples[static_cast<size_t>(std::llround(at))];
}
double median(const std::vector<double>& samples) { return percentile(samples, 50); }

Report::Report(std::string name, int argc, char** argv) : name_(std::move(name)) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::string(argv[i]) == "--json") json_path_ = argv[i + 1];
}

void Report::add(Row row) { rows_.push_back(std::move(row)); }

void Report::require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "benchmark: this does not hold: %s\n", what);
  std::exit(1);
}

int Report::write() {
  std::printf("%-46s %10s %10s %10s %10s %7s %10s\n", name_.c_str(), "median", "p99", "p99.9", "min", "unit", "target");
  std::string json;
  for (const Row& row : rows_) {
    char target[32] = "";
    if (row.target > 0) std::snprintf(target, sizeof target, "%.4g", row.target);
    std::printf("%-46s %10.4g %10.4g %10.4g %10.4g %7s %10s\n", row.name.c_str(), median(row.samples),
                percentile(row.samples, 99), percentile(row.samples, 99.9), percentile(row.samples, 0),
                row.unit.c_str(), target);
    json += json.empty() ? "" : ",\n";
    json += "  {\"name\": \"" + row.name + "\", \"unit\": \"" + row.unit +
            "\", \"target\": " + (row.target > 0 ? target : "null") + ", \"samples\": [";
    for (size_t i = 0; i < row.samples.size(); ++i) {
      char text[32];
      std::snprintf(text, sizeof text, "%s%.5g", i == 0 ? "" : ", ", row.samples[i]);
      json += text;
    }
    json += "]}";
  }
  std::fflush(stdout);
  if (!json_path_.empty()) {
    std::ofstream out(json_path_);
    out << "[\n" << json << "\n]\n";
    require(out.good(), "the JSON file can be written");
  }
  return 0;
}

}  // namespace bench
