// SPDX-License-Identifier: MIT
// Goal: no bytes read as a manifest crash a program, and what is accepted is canonical. Method: the input as it is, and
// with the right CRC; what is read is written again and must give the same bytes.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "artifact/manifest.h"
#include "base/crc32c.h"

using namespace tracker::internal;

namespace {

void look(const std::string& bytes) {
  ManifestReader reader(bytes);
  ManifestWriter writer;
  ManifestEntry entry;
  ClashFinder clashes;
  for (;;) {
    const auto more = reader.next(&entry);
    if (!more.ok()) return;
    if (!*more) break;
    if (!clashes.add(entry.path).empty()) return;  // read, as earlier writers let it in, and not written
    if (!check_artifact_path(entry.path).ok() || !writer.add(entry).ok()) std::abort();
  }
  const ManifestTotals totals = writer.finish();
  if (!(totals == reader.totals()) || writer.take() != bytes) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  look(bytes);
  if (bytes.size() < 4) return 0;
  const uint32_t crc = crc32c(std::string_view(bytes).substr(0, bytes.size() - 4));
  std::memcpy(bytes.data() + bytes.size() - 4, &crc, sizeof crc);
  look(bytes);
  return 0;
}
