// SPDX-License-Identifier: MIT
// Where the rows of one metric are in the logs of a run, by step, without reading them: segments in which its steps
// rise, known from their levels or their directories; and what must be decoded to know its steps (frames, segments with
// steps that fall or repeat), decoded. Threads: one at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codec/series_rows.h"
#include "query/rows/selection.h"
#include "query/view/run_view.h"
#include "storage/database/log_index.h"

namespace tracker::internal {

// Rows of one writer whose steps lie in [first, last].
struct StepPiece {
  size_t writer = 0;  // position in RunView::writers()
  int64_t first = 0, last = 0;
  uint64_t rows = 0;
  // A segment in which steps rise; else rows are there.
  bool rising = false;
  LogPiece log;
  // The coarsest level, where the segment has levels; over times: where those were asked for.
  struct Coarse {
    LevelHead head;
    std::string_view bytes;
  };
  std::optional<Coarse> coarse, coarse_times;
  const std::optional<Coarse>& coarsest(LevelAxis axis) const {
    return axis == LevelAxis::kTimes ? coarse_times : coarse;
  }
  // In the order logged; all of them have a step. Times: where they were asked for.
  std::vector<int64_t> steps;
  std::vector<double> values;
  std::vector<int64_t> times;
};

class StepPieces {
 public:
  // Of the writers that `selection` selects; of its steps only what lies in their range, where it has one. Null: what
  // is there cannot be read this way (a .frames file, two types in one writer, damage). kBusy: a log was compacted
  // meanwhile; the next try knows. It may be answered by what follows, too.
  static Result<std::unique_ptr<StepPieces>> open(RunView* run, const MetricInfo& metric, const Selection& selection,
                                                  bool with_times = false);

  const std::vector<StepPiece>& pieces() const { return pieces_; }
  uint64_t without_step() const { return without_step_; }  // rows; 0 where a range of steps was asked for

  // Rows [begin, end) of a rising piece, by step, appended.
  Status read(const StepPiece& piece, uint64_t begin, uint64_t end, std::vector<int64_t>* steps,
              std::vector<double>* values);
  // The same in two, for memory that stays in the cache: decodes the first of them, as they are stored, up to the row
  // answered; then any of these are given, few at a time; x lives until the next call of anything here, of loaded()
  // too.
  Result<uint64_t> load(const StepPiece& piece, uint64_t begin, uint64_t end, LevelAxis axis);
  std::span<const int64_t> loaded(uint64_t begin, uint64_t end, double* values);
  // Times of the rows [begin, end) of a rising piece, by step, appended; where they were asked for.
  Status read_times(const StepPiece& piece, uint64_t begin, uint64_t end, std::vector<int64_t>* times);
  bool with_times() const { return with_times_; }
  // Closes what is open and ends the transactions, until something is read again.
  Status rest();
  // The rows of a rising piece whose steps lie in [first, last].
  struct Rows {
    uint64_t begin = 0, end = 0;
    int64_t first = 0, last = 0;  // steps of the first and the last one, where there are any
  };
  Result<Rows> rows_within(const StepPiece& piece, int64_t first, int64_t last);
  // The finest levels of these pieces, which all have a coarsest one, by position in `pieces`; without a head where
  // they have none.
  struct FineLevel {
    std::optional<LevelHead> head;
    std::string bytes;
  };
  Result<std::vector<FineLevel>> fine_levels(const std::vector<const StepPiece*>& pieces, LevelAxis axis);

 private:
  struct Writer {
    size_t index = 0;
    uint32_t series = 0;
    ValueType type = ValueType::kFloat64;
    std::unique_ptr<LogIndex> look;
    std::vector<std::shared_ptr<const std::vector<CoarseLevels>>> levels;  // of its parts: what pieces read
  };

  StepPieces(RunView* run, const MetricInfo& metric, const Selection& selection, bool with_times);
  Result<bool> add_writer(size_t index);
  Status find_levels(Writer* writer, const std::vector<LogPiece>& log, std::vector<const CoarseLevels*>* out) const;
  Status add_leveled(const Writer& writer, const LogPiece& log, const CoarseLevels& levels);
  Result<bool> add_segment(const Writer& writer, const LogPiece& log, bool* absent);
  Result<bool> add_decoded(const Writer& writer, const LogPosition& begin, const LogPosition& end);
  bool outside(int64_t first, int64_t last) const;
  Status open_segment(const StepPiece& piece);

  RunView* const run_;
  const MetricInfo& metric_;
  const Selection selection_;
  const bool with_times_;
  std::map<size_t, Writer> writers_;  // by index
  std::vector<StepPiece> pieces_;
  uint64_t without_step_ = 0;

  // The segment that was read last.
  const StepPiece* open_piece_ = nullptr;
  std::unique_ptr<StoredSegment> open_;
  SeriesPlace place_;
  SeriesRows merged_;                // its rows, where several blocks have them
  std::vector<int64_t> open_steps_;  // its steps, once read
  // What load() decoded, from row `loaded_begin_` on. Memory is kept from segment to segment.
  uint64_t loaded_begin_ = 0;
  LevelAxis loaded_axis_ = LevelAxis::kSteps;
  std::vector<int64_t> loaded_x_;  // those of some rows at a time where they follow from a stride
  std::vector<float> floats_;      // of float32
  std::vector<uint64_t> bits_;     // of other types
};

}  // namespace tracker::internal
