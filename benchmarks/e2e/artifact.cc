// SPDX-License-Identifier: MIT
// Question: how fast do files become artifacts? Workload: SHA-256 of 1 GiB in memory; a file of 1 GiB and 10,000 files
// of 4 KiB stored as an artifact, then stored again unchanged; a listing of them. GB/s by the CPU time of the thread
// (what a core gives) and by the clock (with the disk in it). Informational: dominated by processor and disk. The large
// file is stored kRounds times, each time anew: in a virtual machine the first copy also pays for memory that the host
// has not given it yet.
#include <sys/resource.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "artifact/artifact_store.h"
#include "harness.h"

namespace {

using namespace tracker::internal;

constexpr uint64_t kLargeBytes = 1u << 30;
constexpr int kSmallFiles = 10'000;
constexpr size_t kSmallBytes = 4096;
constexpr int kRounds = 3;

struct Timing {
  double wall_s, cpu_s;
};

template <typename F>
Timing timed(const F& body) {
  const uint64_t wall = bench::wall_ns(), cpu = bench::thread_cpu_ns();
  body();
  return {static_cast<double>(bench::wall_ns() - wall) / 1e9, static_cast<double>(bench::thread_cpu_ns() - cpu) / 1e9};
}

StoredArtifact stored(const Store& store, const std::string& name, const std::string& folder) {
  auto draft = ArtifactDraft::make(name, "dataset");
  bench::Report::require(draft.ok() && draft->add_folder(folder).ok(), "the folder is read");
  StoreArtifactOptions options;
  options.free_bytes_min = 1;
  auto out = store_artifact(store, "bench", *draft, options);
  bench::Report::require(out.ok(), "the artifact is stored");
  return *out;
}

void add_speed(bench::Report* report, const std::string& what, uint64_t bytes, const std::vector<Timing>& times) {
  bench::Row core{what + ", a core", "GB/s", {}, 1.5}, clock{what + ", by the clock", "GB/s", {}};
  for (const Timing& time : times) {
    core.samples.push_back(static_cast<double>(bytes) / 1e9 / time.cpu_s);
    clock.samples.push_back(static_cast<double>(bytes) / 1e9 / time.wall_s);
  }
  report->add(core);
  report->add(clock);
}

}  // namespace

int main(int argc, char** argv) {
  bench::Report report("artifact", argc, argv);
  const bench::TemporaryStore folder;
  const std::string large = folder.path() + "/large", small = folder.path() + "/small";
  std::filesystem::create_directories(large);
  std::filesystem::create_directories(small);
  const std::string mib(1u << 20, 'x');
  {
    std::ofstream file(large + "/file");
    for (uint64_t i = 0; i < kLargeBytes >> 20; ++i) file << mib << i;
  }
  for (int i = 0; i < kSmallFiles; ++i)
    std::ofstream(small + "/" + std::to_string(i)) << std::string(kSmallBytes - 8, 'y') << i;
  auto store = Store::open_or_create(folder.path() + "/store");
  bench::Report::require(store.ok(), "a store is made");

  const auto hash_all = [&] {
    Sha256 hash;
    for (uint64_t i = 0; i < kLargeBytes >> 20; ++i) hash.update(mib);
    bench::keep(hash.finish());
  };
  add_speed(&report, "SHA-256", kLargeBytes, {timed(hash_all)});
  std::vector<Timing> copies;
  for (int i = 0; i < kRounds; ++i) {
    std::filesystem::remove_all(store->path() + "/blobs");
    copies.push_back(timed([&] { bench::keep(stored(*store, "large", large)); }));
  }
  add_speed(&report, "a file of 1 GiB", kLargeBytes, copies);
  Timing time = timed([&] { stored(*store, "small", small); });
  report.add({"10,000 files of 4 KiB", "files/s", {kSmallFiles / time.wall_s}, 5000});
  time =
      timed([&] { bench::Report::require(stored(*store, "small", small).files_read == 0, "nothing is read again"); });
  report.add({"the same unchanged", "files/s", {kSmallFiles / time.wall_s}});
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  report.add({"memory at most, of the whole program", "MiB", {static_cast<double>(usage.ru_maxrss) / 1024}});
  const auto info = ArtifactRegistry(*store).read("bench", "large");
  bench::Report::require(info.ok() && verify_artifact(*store, info->versions.at(0), true)->empty(), "it is whole");
  return report.write();
}
