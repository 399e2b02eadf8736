// SPDX-License-Identifier: MIT
// Goal: no bytes of a bundle crash an import, take memory that is not there, lead out of the store, or stay in a store
// that refuses them; what is taken can be read. Method: the input as the file; and as a list of files (a name of a run
// or any other, u16 length, content) in a bundle whose head, order and CRCs are right.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "artifact/digest.h"
#include "base/bytes.h"
#include "base/crc32c.h"
#include "cli/commands/bundle_artifacts.h"
#include "exchange/bundle.h"
#include "read_run.h"
#include "scratch.h"
#include "storage/store/run_folder.h"

using namespace tracker::internal;

namespace {

std::string name_of(ByteReader* in) {
  static const std::string writer = Id128::hash_of("writer").hex(), digits(62, 'a');
  const uint8_t kind = in->u8() % 10;
  switch (kind) {
    case 0: return "run.json";
    case 1: return "attempt-2.json";
    case 2: return writer + ".frames";
    case 3: return writer + ".db";
    case 4: return writer + "-2.db";
    case 5: return "media/aa/aa" + digits + ".png";
    case 6: return "artifacts/0.json";
    case 7: return "artifacts/0-v" + std::to_string(in->u8()) + ".json";
    default: break;
  }
  const size_t size = in->u8();
  std::string text(in->bytes(std::min(size, in->remaining())));
  return kind == 8 ? text : "blobs/" + sha256(text).hex();
}

std::string bundle_of(std::string_view input) {
  ByteReader in(input);
  const uint8_t version = in.u8();
  std::map<std::string, std::string> files;
  uint64_t total = 0;
  while (!in.at_end()) {
    const std::string name = name_of(&in);
    const size_t size = in.u16();
    files[name] = std::string(in.bytes(std::min(size, in.remaining())));
  }
  for (const auto& [name, content] : files) total += content.size();
  ByteWriter out;
  out.bytes(kBundleMagic), out.u32(version), out.u32(static_cast<uint32_t>(files.size())), out.u64(total);
  out.u32(crc32c(out.buffer()));
  for (const auto& [name, content] : files) {
    ByteWriter head;
    head.u64(content.size()), head.u32(static_cast<uint32_t>(name.size())), head.bytes(name);
    out.bytes(head.buffer()), out.u32(crc32c(head.buffer())), out.bytes(content), out.u32(crc32c(content));
  }
  out.bytes(kBundleEnd);
  return out.take();
}

// What lies in the scratch folder beside the store and the bundle, or in the store of a failed import.
void check_places(const Scratch& scratch, const std::string& store, bool taken) {
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path()))
    if (entry.path().filename() != "store" && entry.path().filename() != "bundle") std::abort();
  if (taken || !std::filesystem::exists(store)) return;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(store))
    if (entry.is_regular_file() && entry.path().parent_path() != store) std::abort();
}

void import(const Scratch& scratch, const std::string& store_path) {
  auto store = ImportStore::open(store_path);
  if (!store.ok()) std::abort();
  ImportOptions options;
  options.source = scratch.file("bundle");
  const Status checked = check_bundle(options.source);
  const auto take = [&](const std::string& folder, const RunIdentity& run) {
    return take_bundled_artifacts((*store)->store(), folder, run, &(*store)->report());
  };
  const Status status = import_bundle(store->get(), options, nullptr, take);
  if (!checked.ok() && (status.ok() || status.message() != checked.message())) std::abort();
  if (!status.ok() && status.message().empty()) std::abort();
  check_places(scratch, store_path, status.ok());
  if (!status.ok()) return;
  const auto runs = (*store)->store().list_runs();
  if (runs.size() != 1) std::abort();
  read_run(runs.front());
}

void look(const Scratch& scratch, std::string_view bytes) {
  const std::string store = scratch.file("store");
  scratch.write("bundle", bytes);
  import(scratch, store);
  std::error_code ignored;
  std::filesystem::remove_all(store, ignored);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  ::setenv("TRACKER_SHM_DIR", scratch.path().c_str(), 1);
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  look(scratch, input);
  look(scratch, bundle_of(input));
  return 0;
}
