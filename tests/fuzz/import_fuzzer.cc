// SPDX-License-Identifier: MIT
// Goal: no file of somebody else's that is imported crashes a program or makes a run that cannot be read; a second
// import of the same file adds nothing. Method: the first byte chooses between CSV and JSON lines, where the rest is
// the file, and TensorBoard, where it is events (u16 length each) in records with the CRCs that a fuzzer cannot guess.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "exchange/event_file.h"
#include "exchange/import_source.h"
#include "read_run.h"
#include "scratch.h"

using namespace tracker::internal;

namespace {

std::string events_of(std::string_view input) {
  std::string out;
  ByteReader in(input);
  while (!in.at_end()) {
    const size_t size = in.u16();
    append_event_record(in.bytes(std::min(size, in.remaining())), &out);
  }
  return out;
}

enum class Kind { kCsv, kEvents, kJsonl };

Status import(ImportStore* store, const std::string& source, Kind kind) {
  ImportOptions options;
  options.source = source;
  const auto files = look_for_files(source);
  if (!files.ok()) std::abort();
  if (kind == Kind::kCsv) return import_csv(store, options, *files, nullptr);
  if (kind == Kind::kJsonl) return import_jsonl(store, options, *files, nullptr);
  return import_tensorboard(store, options, *files, nullptr);
}

void import_twice(const std::string& store_path, const std::string& source, Kind kind) {
  auto store = ImportStore::open(store_path);
  if (!store.ok()) std::abort();
  if (!import(store->get(), source, kind).ok()) std::abort();
  const size_t runs = (*store)->report().runs.size();
  for (const RunFolder& run : (*store)->store().list_runs()) read_run(run);
  if (!import(store->get(), source, kind).ok()) std::abort();
  for (size_t i = runs; i < (*store)->report().runs.size(); ++i) {
    const ImportedRun& again = (*store)->report().runs[i];
    if (again.is_new || again.points != 0 || again.texts != 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  ::setenv("TRACKER_SHM_DIR", scratch.path().c_str(), 1);
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto kind = static_cast<Kind>(data[0] % 3);
  const std::string source = kind == Kind::kCsv ? scratch.write("table.csv", input)
                             : kind == Kind::kJsonl
                                 ? scratch.write("rows.jsonl", input)
                                 : scratch.write("events.out.tfevents.1700000000.node1", events_of(input));
  const std::string store = scratch.file("store");
  import_twice(store, source, kind);
  std::error_code ignored;
  std::filesystem::remove_all(store, ignored);
  std::filesystem::remove(source, ignored);
  return 0;
}
