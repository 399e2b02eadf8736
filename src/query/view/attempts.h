// SPDX-License-Identifier: MIT
// Attempts as branches of one run: which attempt goes on from which, which rows a resume at a step shadows, and the
// resolved view over attempts and ranks. Pure functions. Threads: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/rows/selection.h"
#include "query/view/run_view.h"
#include "storage/writer/writer_reader.h"

namespace tracker::internal {

// One attempt of a run: the writers with one number. Ranks of a launch and processes that attached share it.
struct AttemptInfo {
  int64_t attempt = 1;
  int64_t continues = 0;               // the attempt it branches off; 0 for the first
  std::optional<int64_t> resume_step;  // rows of earlier attempts after this step are shadowed; none: nothing is
  std::optional<int64_t> shown_up_to;  // set by later attempts: rows of this one with a larger step are shadowed
  int64_t started_us = 0;
  uint64_t writers = 0, points = 0;  // points: without samples of the system
  std::string state;                 // of its first writer, as writer_state_text() says it
  int64_t last_seen_us = 0;          // of all its writers
};

// By number. `writers` in any order, `liveness` parallel to them; empty: `state` is what is stored alone.
std::vector<AttemptInfo> attempts_of(const std::vector<WriterSnapshot>& writers,
                                     const std::vector<Liveness>& liveness = {}, int64_t now_us = INT64_MAX);

// The attempt whose curve a new attempt resumed at `step` goes on from (no step: the newest): the one that holds the
// resolved view at that step. 0 when there is none.
int64_t attempt_to_continue(const std::vector<AttemptInfo>& attempts, std::optional<int64_t> step);

// Up to which step the rows of each attempt are shown. Rows without a step, as console and system series have them,
// are never shadowed.
class Shadow {
 public:
  // Of all writers, or add() those whose rows are read.
  explicit Shadow(const std::vector<WriterSnapshot>& writers = {});
  void add(const WriterIdentity& writer);
  bool any() const { return !cuts_.empty(); }
  // INT64_MAX when nothing is hidden.
  int64_t shown_up_to(int64_t attempt) const;

 private:
  struct Cut {
    int64_t attempt, step;
  };
  std::vector<Cut> cuts_;
};
// Of the attempts that are asked for: the rows of an attempt that is asked for alone are all there, and those of a time
// are as they were before later attempts began. By attempt alone: a resume at a step takes back the rows of all ranks,
// also of those that have not begun the new attempt.
Shadow shadow_of(const std::vector<WriterSnapshot>& writers, const Selection& selection);

// What a repeated step of a series, a metric in one writer, means; a later attempt wins in any case. Rows are never
// dropped: all=true shows them.
enum class DuplicatePolicy { kLast, kFirst };
// "last" or "first", as the attribute of the run says; anything else is kLast.
DuplicatePolicy duplicate_policy_of(std::string_view name);
constexpr std::string_view kDuplicatePolicyKey = "duplicate_policy";  // an attribute

// Leaves out the rows that a later attempt shadows; keeps the order of the others.
void drop_shadowed(const Shadow& shadow, History* history);
// The resolved view: without shadowed rows, sorted by step, one row a step: of the last attempt that has it, there of
// the lowest rank, there the last or the first one. Rows without a step come last, as logged.
void resolve_rows(const Shadow& shadow, DuplicatePolicy policy, History* history);
// The same for texts.
void drop_shadowed(const Shadow& shadow, std::vector<TextRow>* rows);
void resolve_rows(const Shadow& shadow, DuplicatePolicy policy, std::vector<TextRow>* rows);

}  // namespace tracker::internal
