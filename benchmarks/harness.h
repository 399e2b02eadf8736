// SPDX-License-Identifier: MIT
// What the native benchmarks share: clocks, percentiles, the CPU of the library's threads, a temporary store, and the
// report (a table on stdout, and JSON with the raw samples where --json says).
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace bench {

uint64_t wall_ns();        // CLOCK_MONOTONIC
uint64_t thread_cpu_ns();  // of the calling thread

// CPU of the threads that the library has started (named trk-*) since this was made, by /proc/self/task. Kept by
// thread: those of a run that has ended leave at a moment of their own.
class LibraryCpu {
 public:
  LibraryCpu();
  double ns() const;

 private:
  std::map<std::string, uint64_t> start_;
};

// Keeps the compiler from removing what made `value`.
template <typename T>
inline void keep(const T& value) {
  asm volatile("" : : "r,m"(value) : "memory");
}

class TemporaryStore {
 public:
  TemporaryStore();
  ~TemporaryStore();
  TemporaryStore(const TemporaryStore&) = delete;
  TemporaryStore& operator=(const TemporaryStore&) = delete;
  const std::string& path() const { return path_; }
  uint64_t bytes() const;  // of all files in it

 private:
  std::string path_;
};

// One row of the table: samples in one unit, and the target that targets.md sets for the statistic it names.
struct Row {
  std::string name;
  std::string unit;
  std::vector<double> samples;
  double target = 0;  // 0: informational
};

double percentile(std::vector<double> samples, double p);
double median(const std::vector<double>& samples);

class Report {
 public:
  Report(std::string name, int argc, char** argv);
  void add(Row row);
  // Ends the program with a message: a benchmark whose data did not arrive has measured nothing.
  static void require(bool holds, const char* what);
  int write();  // the table and the file; 0

 private:
  std::string name_, json_path_;
  std::vector<Row> rows_;
};

}  // namespace bench
