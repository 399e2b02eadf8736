// SPDX-License-Identifier: MIT
#include "query/chart/step_pieces.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "query/rows/gather.h"
#include "query/rows/packed.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kLoadRows = 16'384;  // at once, of columns that decode by parts

// One series of the metric in a writer; more than one cannot be distinguished by step alone.
enum class Candidates { kNone, kOne, kSeveral };
Candidates find_series(const WriterSnapshot& writer, const std::string& name, const SeriesStats** out) {
  Candidates found = Candidates::kNone;
  for (const SeriesStats& series : writer.series) {
    if (series.points == 0 || series.def.name != name) continue;
    if (found != Candidates::kNone) return Candidates::kSeveral;
    found = Candidates::kOne;
    *out = &series;
  }
  return found;
}

// Loops of a constant length, which compilers turn into vectors.
template <typename Each>
void by_eight(size_t n, Each each) {
  size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (size_t k = 0; k < 8; ++k) each(i + k);
  for (; i < n; ++i) each(i);
}

// 0: its steps must be read.
uint64_t stride_of(const StepPiece& piece) { return piece.coarse ? piece.coarse->head.stride : 0; }

// What RunView::read names and passes over.
bool is_damage(const Status& status) { return status.code() == Code::kCorrupt || status.code() == Code::kVersion; }

}  // namespace

StepPieces::StepPieces(RunView* run, const MetricInfo& metric, const Selection& selection, bool with_times)
    : run_(run), metric_(metric), selection_(selection), with_times_(with_times) {}

Result<std::unique_ptr<StepPieces>> StepPieces::open(RunView* run, const MetricInfo& metric, const Selection& selection,
                                                     bool with_times) {
  std::unique_ptr<StepPieces> out(new StepPieces(run, metric, selection, with_times));
  for (size_t i = 0; i < run->writers().size(); ++i) {
    if (!selects(selection, run->writers()[i].identity)) continue;
    auto added = out->add_writer(i);
    if (!added.ok() && !is_damage(added.status())) return added.status();
    if (!added.ok() || !*added) return std::unique_ptr<StepPieces>();
  }
  return out;
}

bool StepPieces::outside(int64_t first, int64_t last) const {
  return selection_.steps && (last < selection_.steps->min || first > selection_.steps->max);
}

Result<bool> StepPieces::add_writer(size_t index) {
  const WriterSnapshot& snapshot = run_->writers()[index];
  const SeriesStats* series = nullptr;
  const Candidates found = find_series(snapshot, metric_.name, &series);
  if (found != Candidates::kOne) return found == Candidates::kNone;
  auto look = run_->reader(index)->log_index();
  if (!look.ok()) return look.status();
  if (*look == nullptr) return false;
  Writer& writer = writers_[index];
  writer = {index, series->def.id, series->def.type, std::move(*look), {}};
  auto log = writer.look->pieces(snapshot.end_of_log());
  if (!log.ok()) return log.status();
  std::vector<const CoarseLevels*> levels;
  TRACKER_RETURN_IF_ERROR(find_levels(&writer, *log, &levels));
  pieces_.reserve(pieces_.size() + log->size());
  const LogPiece* decode = nullptr;  // from here on
  for (size_t i = 0; i <= log->size(); ++i) {
    const LogPiece* const piece = i < log->size() ? &(*log)[i] : nullptr;
    const auto before = static_cast<std::ptrdiff_t>(pieces_.size());
    bool known = piece == nullptr;
    if (piece != nullptr && levels[i] != nullptr) {
      TRACKER_RETURN_IF_ERROR(add_leveled(writer, *piece, *levels[i]));
      known = true;
    } else if (piece != nullptr && piece->segment) {
      bool absent = false;
      auto added = add_segment(writer, *piece, &absent);
      if (!added.ok()) return added.status();
      known = *added || (absent && decode == nullptr);
    }
    if (!known && decode == nullptr) decode = piece;
    if (!known || decode == nullptr) continue;
    const auto added_from = static_cast<std::ptrdiff_t>(pieces_.size());
    auto added = add_decoded(writer, decode->begin, (*log)[i - 1].end);
    if (!added.ok() || !*added) return added;
    // In the order of the log: what is decoded is before this piece, and of one step the later row counts.
    std::rotate(pieces_.begin() + before, pieces_.begin() + added_from, pieces_.end());
    decode = nullptr;
  }
  return true;
}

// By position in `log`; null where there are none. Those of a segment that is no longer there are passed over.
Status StepPieces::find_levels(Writer* writer, const std::vector<LogPiece>& log,
                               std::vector<const CoarseLevels*>* out) const {
  out->assign(log.size(), nullptr);
  size_t i = 0;
  for (int part = 1; part <= writer->look->parts(); ++part) {
    auto rows = writer->look->coarse_levels(part, writer->series, with_times_);
    if (!rows.ok()) return rows.status();
    for (const CoarseLevels& row : **rows) {
      while (i < log.size() && (log[i].part < part || (log[i].part == part && log[i].first_seq < row.first_seq))) ++i;
      if (i == log.size()) break;
      const LogPiece& piece = log[i];
      if (piece.segment && piece.part == part && piece.first_seq == row.first_seq && piece.last_seq == row.last_seq)
        (*out)[i] = &row;
    }
    writer->levels.push_back(std::move(*rows));
  }
  return {};
}

Status StepPieces::add_leveled(const Writer& writer, const LogPiece& log, const CoarseLevels& levels) {
  const auto coarse = [&writer](LevelAxis axis, std::string_view bytes) -> Result<StepPiece::Coarse> {
    auto head = decode_level_head(bytes);
    if (!head.ok()) return head.status();
    if (head->type != writer.type || head->axis != axis) return Status(Code::kCorrupt, "a level of another type");
    return StepPiece::Coarse{*head, bytes};
  };
  auto steps = coarse(LevelAxis::kSteps, levels.steps);
  if (!steps.ok()) return steps.status();
  const LevelHead& head = steps->head;
  StepPiece piece{writer.index, head.x_first, head.x_last, head.rows, true, log, *steps, {}, {}, {}, {}};
  if (with_times_ && !levels.times.empty()) {
    auto times = coarse(LevelAxis::kTimes, levels.times);
    if (!times.ok()) return times.status();
    if (times->head.rows != head.rows) return Status(Code::kCorrupt, "levels of other rows");
    piece.coarse_times = *times;
  }
  if (!outside(head.x_first, head.x_last)) pieces_.push_back(std::move(piece));
  return {};
}

// A segment without levels. True: it need not be decoded now; of a series that is not in it nothing need be.
Result<bool> StepPieces::add_segment(const Writer& writer, const LogPiece& log, bool* absent) {
  auto stored = writer.look->segment(log);
  if (!stored.ok()) return stored.status();
  auto place = series_place(*(*stored)->view(), writer.series);
  if (!place.ok()) return place.status();
  *absent = place->columns.empty();
  if (*absent) return false;
  if (place->type != writer.type) return Status(Code::kCorrupt, "a series of another type");
  if (selection_.steps && (place->stepped == 0 || outside(place->step_min, place->step_max))) return true;
  if (!place->rising) return false;
  pieces_.push_back({writer.index, place->step_min, place->step_max, place->rows, true, log, {}, {}, {}, {}, {}});
  return true;
}

// Frames, and what else is in their way, row by row. False: something is damaged.
Result<bool> StepPieces::add_decoded(const Writer& writer, const LogPosition& begin, const LogPosition& end) {
  Selection rows;
  rows.steps = selection_.steps;
  Gatherer gatherer({&metric_}, rows);
  std::vector<LogDamage> damage;
  LogPosition at = begin;
  TRACKER_RETURN_IF_ERROR(
      gatherer.read_log_to(run_->writers()[writer.index], run_->reader(writer.index), &at, end, UINT64_MAX, &damage));
  if (!damage.empty()) return false;
  History history = std::move(gatherer.take().front());
  std::vector<double> values(history.size());
  to_doubles(history.type, history.bits.data(), values.size(), values.data());
  StepPiece out;
  out.writer = writer.index;
  for (size_t row = 0; row < history.size(); ++row) {
    if (!history.row_has_step(row)) {
      ++without_step_;
      continue;
    }
    out.steps.push_back(history.steps[row]);
    out.values.push_back(values[row]);
    if (with_times_) out.times.push_back(history.times_us[row]);
  }
  if (out.steps.empty()) return true;
  const auto [least, greatest] = std::minmax_element(out.steps.begin(), out.steps.end());
  out.first = *least;
  out.last = *greatest;
  out.rows = out.steps.size();
  pieces_.push_back(std::move(out));
  return true;
}

// --- rows of rising pieces ----------------------------------------------------------------------------------------

Status StepPieces::open_segment(const StepPiece& piece) {
  if (open_piece_ == &piece) return {};
  open_piece_ = nullptr;
  open_.reset();
  open_steps_.clear();
  const Writer& writer = writers_.at(piece.writer);
  auto stored = writer.look->segment(piece.log);
  if (!stored.ok()) return stored.status();
  open_ = std::move(*stored);
  auto place = series_place(*open_->view(), writer.series);
  if (!place.ok()) return place.status();
  place_ = std::move(*place);
  if (place_.rows != piece.rows || !place_.all_have_steps() || place_.step_min != piece.first ||
      place_.step_max != piece.last || place_.type != writer.type)
    return Status(Code::kCorrupt, "levels that are not those of their segment");
  if (place_.columns.size() > 1) {
    TRACKER_RETURN_IF_ERROR(read_series(open_->view(), place_, with_times_, &merged_));
    open_steps_ = merged_.steps;
  }
  open_piece_ = &piece;
  return {};
}

Status StepPieces::read(const StepPiece& piece, uint64_t begin, uint64_t end, std::vector<int64_t>* steps,
                        std::vector<double>* values) {
  size_t at = steps->size();
  steps->resize(at + (end - begin));
  values->resize(at + (end - begin));
  for (uint64_t row = begin; row < end;) {
    auto to = load(piece, row, end, LevelAxis::kSteps);
    if (!to.ok()) return to.status();
    const std::span<const int64_t> x = loaded(row, *to, values->data() + at);
    std::copy(x.begin(), x.end(), steps->data() + at);
    at += x.size();
    row = *to;
  }
  return {};
}

Result<uint64_t> StepPieces::load(const StepPiece& piece, uint64_t begin, uint64_t end, LevelAxis axis) {
  TRACKER_RETURN_IF_ERROR(open_segment(piece));
  loaded_begin_ = begin;
  loaded_axis_ = axis;
  if (place_.columns.size() > 1) return end;  // merged already
  const auto [block, column] = place_.columns.front();
  SegmentView& view = *open_->view();
  if (end - begin > kLoadRows) {
    auto by_parts = view.decodes_by_parts(block, column);
    if (!by_parts.ok()) return by_parts.status();
    if (*by_parts) end = begin + kLoadRows;
  }
  const RowRange range{begin, end};
  const size_t rows = end - begin;
  if (axis == LevelAxis::kTimes || stride_of(piece) == 0) {
    if (loaded_x_.size() < rows) loaded_x_.resize(rows);
    TRACKER_RETURN_IF_ERROR(axis == LevelAxis::kTimes ? view.times(block, range, loaded_x_.data())
                                                      : view.steps(block, range, loaded_x_.data()));
    if (!std::is_sorted(loaded_x_.begin(), loaded_x_.begin() + static_cast<std::ptrdiff_t>(rows)))
      return Status(Code::kCorrupt, "rows that are not in the order their segment says");
  }
  if (place_.type == ValueType::kFloat32) {
    if (floats_.size() < rows) floats_.resize(rows);
    TRACKER_RETURN_IF_ERROR(view.values(block, column, range, floats_.data()));
    return end;
  }
  if (bits_.size() < rows) bits_.resize(rows);
  TRACKER_RETURN_IF_ERROR(view.value_bits(block, column, range, bits_.data()));
  return end;
}

std::span<const int64_t> StepPieces::loaded(uint64_t begin, uint64_t end, double* values) {
  const size_t rows = end - begin, at = begin - loaded_begin_;
  const bool by_time = loaded_axis_ == LevelAxis::kTimes;
  if (place_.columns.size() > 1) {
    to_doubles(place_.type, merged_.bits.data() + begin, rows, values);
    return std::span<const int64_t>(by_time ? merged_.times : merged_.steps).subspan(begin, rows);
  }
  if (place_.type == ValueType::kFloat32) {
    const float* const floats = floats_.data() + at;
    by_eight(rows, [&](size_t i) { values[i] = floats[i]; });
  } else {
    to_doubles(place_.type, bits_.data() + at, rows, values);
  }
  const uint64_t stride = stride_of(*open_piece_);
  if (stride == 0 || by_time) return std::span<const int64_t>(loaded_x_).subspan(at, rows);
  if (loaded_x_.size() < rows) loaded_x_.resize(rows);
  int64_t* const x = loaded_x_.data();
  const uint64_t first = static_cast<uint64_t>(open_piece_->first) + begin * stride;
  by_eight(rows, [&](size_t i) { x[i] = static_cast<int64_t>(first + i * stride); });
  return std::span<const int64_t>(loaded_x_).first(rows);
}

Status StepPieces::read_times(const StepPiece& piece, uint64_t begin, uint64_t end, std::vector<int64_t>* times) {
  TRACKER_RETURN_IF_ERROR(open_segment(piece));
  const size_t at = times->size();
  times->resize(at + (end - begin));
  if (place_.columns.size() > 1) {
    std::copy_n(merged_.times.data() + begin, end - begin, times->data() + at);
    return {};
  }
  return open_->view()->times(place_.columns.front().first, {begin, end}, times->data() + at);
}

Status StepPieces::rest() {
  open_piece_ = nullptr;
  open_.reset();
  open_steps_.clear();
  Status status;
  for (auto& [index, writer] : writers_)
    if (const Status ended = writer.look->rest(); !ended.ok()) status = ended;
  return status;
}

Result<StepPieces::Rows> StepPieces::rows_within(const StepPiece& piece, int64_t first, int64_t last) {
  if (first <= piece.first && last >= piece.last) return Rows{0, piece.rows, piece.first, piece.last};
  if (last < piece.first || first > piece.last) return Rows();
  const auto gap = [](int64_t a, int64_t b) { return static_cast<uint64_t>(b) - static_cast<uint64_t>(a); };
  if (const uint64_t stride = stride_of(piece); stride > 0) {
    const auto step = [&](uint64_t row) {
      return static_cast<int64_t>(static_cast<uint64_t>(piece.first) + row * stride);
    };
    const uint64_t begin = first <= piece.first ? 0 : (gap(piece.first, first) - 1) / stride + 1;
    const uint64_t end = last >= piece.last ? piece.rows : gap(piece.first, last) / stride + 1;
    return begin < end ? Rows{begin, end, step(begin), step(end - 1)} : Rows();
  }
  TRACKER_RETURN_IF_ERROR(open_segment(piece));
  if (open_steps_.empty()) {
    open_steps_.resize(piece.rows);
    TRACKER_RETURN_IF_ERROR(open_->view()->steps(place_.columns.front().first, RowRange(), open_steps_.data()));
    if (!rises(open_steps_)) return Status(Code::kCorrupt, "steps that do not rise as their segment says");
  }
  const auto begin = std::lower_bound(open_steps_.begin(), open_steps_.end(), first);
  const auto end = std::upper_bound(begin, open_steps_.end(), last);
  if (begin == end) return Rows();
  return Rows{static_cast<uint64_t>(begin - open_steps_.begin()), static_cast<uint64_t>(end - open_steps_.begin()),
              *begin, *(end - 1)};
}

Result<std::vector<StepPieces::FineLevel>> StepPieces::fine_levels(const std::vector<const StepPiece*>& pieces,
                                                                   LevelAxis axis) {
  struct Wanted {
    uint64_t from = UINT64_MAX, to = 0;
    std::map<uint64_t, size_t> places;  // by first_seq
  };
  std::map<std::pair<size_t, int>, Wanted> wanted;  // by writer and part
  std::vector<FineLevel> out(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    Wanted& of = wanted[{pieces[i]->writer, pieces[i]->log.part}];
    of.from = std::min(of.from, pieces[i]->log.first_seq);
    of.to = std::max(of.to, pieces[i]->log.first_seq);
    of.places[pieces[i]->log.first_seq] = i;
  }
  for (const auto& each : wanted) {
    const auto& where = each.first;
    const Wanted& of = each.second;
    const Writer& writer = writers_.at(where.first);
    const auto visit = [&](uint64_t first_seq, uint64_t last_seq, std::string_view data) -> Status {
      const auto at = of.places.find(first_seq);
      if (at == of.places.end() || pieces[at->second]->log.last_seq != last_seq) return {};
      auto level = decode_level_head(data);
      if (!level.ok()) return level.status();
      const StepPiece& piece = *pieces[at->second];
      const LevelHead& coarse = piece.coarsest(axis)->head;
      if (level->type != writer.type || level->axis != axis || level->rows != piece.rows ||
          level->x_first != coarse.x_first || level->x_last != coarse.x_last)
        return Status(Code::kCorrupt, "levels that are not those of their segment");
      out[at->second] = {*level, std::string(data)};
      return {};
    };
    TRACKER_RETURN_IF_ERROR(
        writer.look->levels(where.second, writer.series, level_number(axis, 0), of.from, of.to, visit));
  }
  return out;
}

}  // namespace tracker::internal
