// SPDX-License-Identifier: MIT
// Where the points of a run are, in all and by metric. Values without behaviour.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/recovery/recovery.h"

namespace tracker::internal {

// Where points are (P5): logged = stored + dropped + pending. Pending is what journals hold and the databases did not
// at the last snapshot; journals in private memory, of other users and of other machines cannot be seen. Of a process
// that lives pending is approximate: what it stores while a reader looks is in no count.
struct LossAccount {
  uint64_t logged = 0, stored = 0, dropped = 0, pending = 0;
  bool pending_approximate = false;  // a process that lives is among its writers
  struct Texts {                     // under a metric's name: no points, with an account of their own
    uint64_t logged = 0, stored = 0, dropped = 0, pending = 0;
    std::vector<std::pair<std::string, uint64_t>> by_reason;
  } texts;
  struct Entries {  // config, summary, attributes, definitions, alerts, notes: what is stored of them replaces each
                    // other
    uint64_t dropped = 0;
    std::vector<std::pair<std::string, uint64_t>> by_reason;
  } entries;
  std::vector<WaitingPoints> waiting;  // of pending: in whose journals
  std::optional<uint32_t> unseen;      // the user whose journals may hold more: this one cannot see them
  // Processes that neither ended nor were recovered and whose journal is not here, those among them that came to no
  // commit at all: what they logged after their last commit is not known.
  uint64_t missing_journals = 0;
  uint64_t unread_rings = 0;  // of dead processes: what they held is unknown, so more may be lost
  uint64_t rejected_values = 0;
  uint64_t recovered = 0;  // of stored: replayed after a crash
  std::vector<std::pair<std::string, uint64_t>> by_reason;
};

// The same for one metric. Points lost for no metric in particular (more metrics than the limit, a damaged journal,
// logged after finish) are under the empty name.
struct MetricAccount {
  std::string metric;
  uint64_t stored = 0, dropped = 0, pending = 0;
  std::vector<std::pair<std::string, uint64_t>> by_reason;
  uint64_t logged() const { return stored + dropped + pending; }
};

}  // namespace tracker::internal
