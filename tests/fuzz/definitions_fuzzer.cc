// SPDX-License-Identifier: MIT
// Goal: no bytes in a definitions file make recovery crash; series ids it gives are in order.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "journal/definitions.h"

using namespace tracker::internal;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto definitions = parse_definitions({reinterpret_cast<const char*>(data), size});
  if (!definitions.ok()) return 0;
  uint32_t last = 0;
  for (const SeriesDef& series : definitions->series) {
    if (series.id <= last) std::abort();
    last = series.id;
  }
  return 0;
}
