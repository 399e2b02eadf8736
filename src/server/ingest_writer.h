// SPDX-License-Identifier: MIT
// Ingest's data of a writer in memory. Private to ingest.cc and ingest_apply.cc.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/ingest.h"

namespace tracker::internal {

struct Ingest::Writer {
  // Constant.
  Id128 run, id;
  std::string run_path;
  WriterIdentity identity;      // as in its database
  std::atomic<int64_t> row{0};  // in ingest.db; 0: none yet. Set by the thread that commits
  // Guarded by mutex_.
  uint64_t acked = 0;
  int64_t said_us = 0, heartbeat_us = 0;  // the last heartbeat as the client sent it, and as it is stored
  uint64_t waiting_bytes = 0;
  bool is_due = false;    // there are units or a heartbeat to store
  bool applying = false;  // a thread is using the following fields
  int64_t retry_ns = 0;
  int64_t used_ns = 0;
  // Of the thread that applies.
  std::unique_ptr<WriterStore> store;
  int64_t applied_id = 0;              // of its units
  std::optional<uint64_t> stored_seq;  // the last number in its file, as this process wrote it
  int64_t stored_beat_us = 0;          // the heartbeat in its database
  bool may_have_ended = false;
  bool has_failed = false;  // which was reported
};

// Something that the transaction of ingest.db does.
struct Ingest::Job {
  Writer* writer = nullptr;
  const Batch* batch = nullptr;  // none: a deletion, or a restart after the loss of the writer's file
  int64_t erase_up_to = 0;
  // from `held`: waiting units go into quarantine, and clients are asked for the following ones
  bool starts_again = false;
  uint64_t held = 0;
  std::vector<BatchUnit> quarantine;  // of the applier
  BatchAnswer answer;
  uint64_t bytes = 0;  // stored of the batch
  bool done = false;
  Status status;
};

}  // namespace tracker::internal
