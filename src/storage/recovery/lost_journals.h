// SPDX-License-Identifier: MIT
// Journals of dead processes whose store is gone from where it was: deleted, moved, or not mounted just now. Which of
// these only a person knows, so nothing is dropped unasked; when the store is back, it recovers them. Threads: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/records.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr size_t kLostJournalsListed = 64;  // by `tracker doctor`; more are counted only

struct LostJournal {
  std::string dir;
  WriterIdentity writer;
  uint64_t bytes = 0;
};

// Those of this user on this machine, among the roots of the store at `store_path`; that store's own are none. A store
// that cannot be read is not gone. Cost: a look at every journal's definitions.
std::vector<LostJournal> lost_journals(const std::string& store_path);

// Whether its store was never made although it can be: the disk took nothing of it. It is not lost: whoever asks for
// that store makes it (below), and so does the next run there.
bool awaits_store(const WriterIdentity& writer);

// Store::open, and where there is none yet although journals of dead processes await it, it is made, for recovery to
// store what they hold. kNotFound says how many there are where it cannot be made. Cost: Store::open; where there is no
// store a look at every journal's definitions.
Result<Store> open_awaited_store(const std::string& path);

// Points that a recovery would find there. 0 where it cannot be read. Cost: reads the journal.
uint64_t points_in_journal(const std::string& dir);

// Takes its lock, looks again whether the store is gone, and removes it for ever. kBusy: its process lives or somebody
// recovers it; kInvalid: its store is there; kCorrupt, kVersion: cannot be read, and is left alone.
Status drop_lost_journal(const std::string& store_path, const std::string& dir);

}  // namespace tracker::internal
