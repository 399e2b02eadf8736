// SPDX-License-Identifier: MIT
#include "query/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "query/huge_pages.h"

namespace tracker::internal {
namespace {

// The one type that holds all of `types`: their own where there is one, int64 where only ints and bools meet, else
// float64.
ValueType common_type(const std::vector<ValueType>& types) {
  if (types.empty()) return ValueType::kFloat64;
  if (types.size() == 1) return types[0];
  const bool integers = std::all_of(
      types.begin(), types.end(), [](ValueType type) { return type == ValueType::kInt64 || type == ValueType::kBool; });
  return integers ? ValueType::kInt64 : ValueType::kFloat64;
}

uint64_t promoted(ValueType own, uint64_t bits, ValueType common) {
  if (own == common || common == ValueType::kInt64) return bits;  // a bool's bits are the int's
  return bits_of(to_double(own, bits));
}

template <typename T>
void cut(std::vector<T>* column, size_t rows) {
  if (column->size() > rows) column->resize(rows);
}

// Of the rows from `begin` on those that `keep` tells.
template <typename T>
void keep_rows(const std::vector<uint32_t>& keep, size_t begin, std::vector<T>* column) {
  T* const rows = column->data() + begin;
  for (size_t i = 0; i < keep.size(); ++i) rows[i] = rows[keep[i]];
  column->resize(begin + keep.size());
}

void cut_rows(History* history, size_t rows) {
  cut(&history->steps, rows);
  cut(&history->bits, rows);
  cut(&history->times_us, rows);
  cut(&history->source, rows);
  cut(&history->own_types, rows);
  cut(&history->own_bits, rows);
  cut(&history->has_step, rows);
}

}  // namespace

Gatherer::Gatherer(const std::vector<const MetricInfo*>& metrics, const Selection& selection)
    : steps_(selection.steps), times_us_(selection.times_us) {
  for (const MetricInfo* metric : metrics) {
    Target target;
    target.metric = metric;
    target.history.type = common_type(metric->types);
    targets_.push_back(std::move(target));
  }
}

void Gatherer::reserve_all() {
  // The counts come from a file: a wrong one must not make us ask for the whole memory at once.
  constexpr uint64_t kReserveRowsMax = 32u << 20;
  for (Target& target : targets_) {
    const size_t rows = std::min(target.metric->points, kReserveRowsMax);
    reserve_huge(&target.history.steps, rows);
    reserve_huge(&target.history.times_us, rows);
    reserve_huge(target.several_types() ? &target.history.own_bits : &target.history.bits, rows);
  }
}

std::unordered_map<uint32_t, Gatherer::Column> Gatherer::columns_of(const WriterSnapshot& writer) const {
  std::unordered_map<std::string_view, size_t> by_name;
  for (size_t i = 0; i < targets_.size(); ++i) by_name.emplace(targets_[i].metric->name, i);
  std::unordered_map<uint32_t, Column> columns;
  for (const SeriesStats& series : writer.series) {
    const auto found = by_name.find(series.def.name);
    if (found != by_name.end() && series.points > 0) columns[series.def.id] = {found->second, series.def.type};
  }
  return columns;
}

Status Gatherer::read_writer(const WriterSnapshot& writer, WriterReader* reader, std::vector<std::string>* damage) {
  uint64_t seq = 0;
  return read_frames(writer, reader, &seq, UINT64_MAX, damage);
}

Status Gatherer::read_frames(const WriterSnapshot& writer, WriterReader* reader, uint64_t* seq, uint64_t rows_max,
                             std::vector<std::string>* damage) {
  const auto columns = columns_of(writer);
  if (columns.empty()) {
    *seq = std::max(*seq, writer.last_seq);
    return Status();
  }
  for (Target& target : targets_) target.writer_begin = target.frame_begin = target.history.steps.size();
  bool full = false;
  const Status status = reader->frames(
      *seq,
      [&](uint64_t frame_seq, std::string_view bytes) {
        if (frame_seq > writer.last_seq) return false;  // committed after the snapshot: all end at the same frame
        *seq = frame_seq;
        const Status read = read_frame(bytes, columns);
        if (!read.ok() && damage != nullptr)
          damage->push_back(fmt::format("{}: frame {}: {}", reader->path(), frame_seq, read.message()));
        full = rows_max != UINT64_MAX && rows() >= rows_max;
        return !full;
      },
      damage);
  for (Target& target : targets_) note_source(&target, writer.identity);
  if (status.ok() && !full) *seq = std::max(*seq, writer.last_seq);
  return status;
}

uint64_t Gatherer::rows() const {
  uint64_t rows = 0;
  for (const Target& target : targets_) rows += target.history.steps.size();
  return rows;
}

// Rows are labelled with their writer only once a second one has rows.
void Gatherer::note_source(Target* target, const WriterIdentity& writer) {
  History& history = target->history;
  if (history.steps.size() == target->writer_begin) return;
  history.sources.push_back({writer.attempt, writer.rank, writer.writer});
  if (history.sources.size() == 1) return;
  history.source.resize(target->writer_begin, 0);
  history.source.resize(history.steps.size(), static_cast<uint32_t>(history.sources.size() - 1));
}

Status Gatherer::read_frame(std::string_view bytes, const std::unordered_map<uint32_t, Column>& columns) {
  auto frame = FrameView::parse(bytes, false);  // the reader has checked the CRC
  if (!frame.ok()) return frame.status();
  for (const FrameView::BlockView& block : frame->blocks()) {
    const Status status = read_block(block, columns);
    if (status.ok()) continue;
    drop_frame();
    return status;
  }
  for (Target& target : targets_) finish_frame(&target);
  for (const FrameView::BlockView& block : frame->blocks())
    for (const uint32_t series : block.series)
      if (columns.contains(series)) rows_read_[series] += block.rows;
  return Status();
}

Status Gatherer::read_block(const FrameView::BlockView& block, const std::unordered_map<uint32_t, Column>& columns) {
  std::optional<BlockRows> rows;
  for (size_t i = 0; i < block.series.size(); ++i) {
    const auto found = columns.find(block.series[i]);
    if (found == columns.end()) continue;
    const Column& column = found->second;
    if (block.types[i] != column.type)
      return Status(Code::kCorrupt, fmt::format("series {} has another type than its definition", block.series[i]));
    if (rows) {
      copy_rows(*rows, column.target);
    } else {
      rows.emplace();
      TRACKER_RETURN_IF_ERROR(read_rows(block, column.target, &*rows));
    }
    if (rows->count == 0) return Status();
    TRACKER_RETURN_IF_ERROR(read_values(block, i, column, *rows));
  }
  return Status();
}

// Steps and times of the rows that are wanted, into the target that comes first.
Status Gatherer::read_rows(const FrameView::BlockView& block, size_t target, BlockRows* rows) {
  History& history = targets_[target].history;
  const size_t begin = history.steps.size();
  *rows = {target, begin, block.rows, false};
  if (block.has_steps) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.steps, block.rows, &history.steps));
  else history.steps.resize(begin + block.rows, 0);
  TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.times, block.rows, &history.times_us));
  if (steps_ || times_us_) choose_rows(block, history, rows);
  if (rows->filtered) {
    keep_rows(keep_, begin, &history.steps);
    keep_rows(keep_, begin, &history.times_us);
  }
  if (rows->count == 0) return Status();
  targets_[target].block_begins.push_back(begin);
  if (!block.has_steps && history.has_step.empty()) history.has_step.assign(begin, 1);
  if (!block.has_steps || !history.has_step.empty())
    history.has_step.resize(begin + rows->count, block.has_steps ? 1 : 0);
  return Status();
}

void Gatherer::choose_rows(const FrameView::BlockView& block, const History& history, BlockRows* rows) {
  constexpr Int64Range kAll;
  const Int64Range steps = steps_.value_or(kAll), times = times_us_.value_or(kAll);
  keep_.resize(block.rows);
  size_t count = 0;
  for (size_t i = 0; i < block.rows; ++i) {  // no branch a row
    const int64_t step = history.steps[rows->begin + i], time = history.times_us[rows->begin + i];
    keep_[count] = static_cast<uint32_t>(i);
    count += static_cast<size_t>(step >= steps.min) & static_cast<size_t>(step <= steps.max) &
             static_cast<size_t>(time >= times.min) & static_cast<size_t>(time <= times.max);
  }
  if (steps_ && !block.has_steps) count = 0;
  rows->filtered = count < block.rows;
  rows->count = count;
  keep_.resize(count);
}

void Gatherer::copy_rows(const BlockRows& rows, size_t target) {
  const History& from = targets_[rows.target].history;
  History& to = targets_[target].history;
  const size_t begin = to.steps.size();
  targets_[target].block_begins.push_back(begin);
  to.steps.resize(begin + rows.count);
  to.times_us.resize(begin + rows.count);
  std::copy_n(from.steps.begin() + static_cast<std::ptrdiff_t>(rows.begin), rows.count,
              to.steps.begin() + static_cast<std::ptrdiff_t>(begin));
  std::copy_n(from.times_us.begin() + static_cast<std::ptrdiff_t>(rows.begin), rows.count,
              to.times_us.begin() + static_cast<std::ptrdiff_t>(begin));
  const bool has_steps = from.has_step.empty() || from.has_step[rows.begin] != 0;
  if (!has_steps && to.has_step.empty()) to.has_step.assign(begin, 1);
  if (!has_steps || !to.has_step.empty()) to.has_step.resize(begin + rows.count, has_steps ? 1 : 0);
}

Status Gatherer::read_values(const FrameView::BlockView& block, size_t column, const Column& to,
                             const BlockRows& rows) {
  Target& target = targets_[to.target];
  std::vector<uint64_t>& bits = target.several_types() ? target.history.own_bits : target.history.bits;
  const size_t begin = bits.size();
  TRACKER_RETURN_IF_ERROR(FrameView::read_values(block.values[column], block.rows, to.type, &bits));
  if (rows.filtered) keep_rows(keep_, begin, &bits);
  if (target.several_types()) target.history.own_types.resize(begin + rows.count, static_cast<uint8_t>(to.type));
  return Status();
}

// Blocks hold calls of one shape, so a metric logged in two shapes by turns comes as two blocks: their rows are put
// back into the order of their times. Rows of a single block are in the order of the calls already, and a clock that
// was set back does not change that: such a row counts as of the time of the one before it.
void Gatherer::finish_frame(Target* target) {
  History& history = target->history;
  const size_t begin = target->frame_begin;
  std::vector<size_t> blocks;
  blocks.swap(target->block_begins);
  target->frame_begin = history.steps.size();
  const auto first = history.times_us.begin() + static_cast<std::ptrdiff_t>(begin);
  if (blocks.size() < 2 || std::is_sorted(first, history.times_us.end())) return;
  std::vector<int64_t> times(first, history.times_us.end());
  blocks.push_back(history.steps.size());
  for (size_t block = 0; block + 1 < blocks.size(); ++block)
    for (size_t row = blocks[block] + 1; row < blocks[block + 1]; ++row)
      times[row - begin] = std::max(times[row - begin], times[row - begin - 1]);
  std::vector<size_t> order(times.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&times](size_t a, size_t b) { return times[a] < times[b]; });
  const auto sort_tail = [&order, begin](auto* column) {
    if (column->empty()) return;
    std::remove_reference_t<decltype(*column)> tail;
    tail.reserve(order.size());
    for (const size_t row : order) tail.push_back((*column)[begin + row]);
    std::copy(tail.begin(), tail.end(), column->begin() + static_cast<std::ptrdiff_t>(begin));
  };
  sort_tail(&history.steps);
  sort_tail(&history.bits);
  sort_tail(&history.times_us);
  sort_tail(&history.own_types);
  sort_tail(&history.own_bits);
  sort_tail(&history.has_step);
}

// A frame counts as a whole or not at all: half of its columns would pair values with the wrong steps.
void Gatherer::drop_frame() {
  for (Target& target : targets_) {
    cut_rows(&target.history, target.frame_begin);
    target.block_begins.clear();
  }
}

std::vector<History> Gatherer::take() {
  std::vector<History> out;
  for (Target& target : targets_) {
    History& history = target.history;
    if (target.several_types()) {
      history.bits.resize(history.own_bits.size());
      for (size_t i = 0; i < history.own_bits.size(); ++i)
        history.bits[i] = promoted(static_cast<ValueType>(history.own_types[i]), history.own_bits[i], history.type);
    }
    if (history.sources.empty()) history.sources.push_back({});
    out.push_back(std::move(history));
  }
  targets_.clear();
  return out;
}

}  // namespace tracker::internal
