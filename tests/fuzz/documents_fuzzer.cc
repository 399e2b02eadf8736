// SPDX-License-Identifier: MIT
// Goal: no bytes in store.json or run.json make a program crash, and an accepted document has the identity of the store
// or the run. Method: the input is the file; what is read of a run is written as its document and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "scratch.h"
#include "storage/store/run_folder.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch folder;
  const std::string path = folder.write("run.json", {reinterpret_cast<const char*>(data), size});
  const auto store = read_store_document(path);
  if (store.ok() && store->is_zero()) std::abort();
  const auto run = read_run_document(path);
  (void)read_claim_maker(path);
  const auto found = read_run_folder(folder.path());
  if (found.ok() != run.ok()) std::abort();
  if (!run.ok()) {
    if (run.status().message().find(path) == std::string::npos) std::abort();
    return 0;
  }
  if (run->uid.is_zero() || run->project.empty() || run->id.empty()) std::abort();
  const auto again = read_run_document(folder.write("again.json", run_document(*run)));
  if (!again.ok() || again->uid != run->uid || again->project != run->project || again->id != run->id ||
      again->created_us != run->created_us)
    std::abort();
  return 0;
}
