// SPDX-License-Identifier: MIT
// A batch: units of one writer's log that are sent to another store (docs/formats/http.md). Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/records.h"

namespace tracker::internal {

// Limit: bytes of a batch that a server takes. Beyond it: 413; the client halves it, and names one unit that is too
// large.
constexpr size_t kBatchBytesMax = 32 << 20;
// Limit: units of a batch that a server takes. Beyond it: 413; the client halves it.
constexpr size_t kBatchUnitsMax = 4096;

enum class BatchUnitKind : uint8_t { kFrame = 1, kSegment = 2 };

// One frame or one segment. prev < first <= last: the numbers between prev and first are a gap, in which `lost` points
// are known to be lost.
struct BatchUnit {
  BatchUnitKind kind = BatchUnitKind::kFrame;
  uint64_t prev = 0, first = 0, last = 0, lost = 0;
  std::string_view bytes;
};

struct Batch {
  WriterIdentity writer;
  int64_t heartbeat_us = 0;      // the writer's last heartbeat; 0: not recorded
  std::vector<BatchUnit> units;  // none: a heartbeat only
};

// The units' bytes are copied. Nothing is checked.
std::string encode_batch(const Batch& batch);

// Whether the bytes are one complete batch, by its size and its CRC.
bool is_whole_batch(std::string_view bytes);

// The units are views into `bytes`. Each frame and each segment is parsed with its CRCs and has the writer of the head
// and the numbers of its unit; units follow each other. kCorrupt: a CRC, a size, CBOR or a unit that breaks these
// rules; kVersion: a newer batch, frame or segment; kLimit: above the limits. Cost: one pass over the bytes.
Result<Batch> parse_batch(std::string_view bytes);

}  // namespace tracker::internal
