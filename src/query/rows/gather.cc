// SPDX-License-Identifier: MIT
#include "query/rows/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

#include "query/rows/huge_pages.h"

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

// Of the rows from `begin` on those whose numbers `keep` has.
template <typename T>
void keep_rows(const std::vector<uint32_t>& keep, size_t begin, std::vector<T>* column) {
  T* const rows = column->data() + begin;
  for (size_t i = 0; i < keep.size(); ++i) rows[i] = rows[keep[i]];
  column->resize(begin + keep.size());
}

// Of those that frames fill and that are in use.
template <typename F>
void for_each_column(History* history, F&& visit) {
  const auto visit_used = [&visit](auto* column) {
    if (!column->empty()) visit(column);
  };
  visit_used(&history->steps);
  visit_used(&history->bits);
  visit_used(&history->times_us);
  visit_used(&history->own_types);
  visit_used(&history->own_bits);
  visit_used(&history->has_step);
}

template <typename Columns>
bool holds_any(const RowBlock& block, const Columns& columns) {
  return std::any_of(block.series().begin(), block.series().end(), [&](uint32_t id) { return columns.contains(id); });
}

void cut_rows(History* history, size_t rows) {
  for_each_column(history, [rows](auto* column) { cut(column, rows); });
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

// Hands what comes to the gatherer until there is enough.
class Gatherer::Visitor : public LogVisitor {
 public:
  Visitor(Gatherer* to, const Columns& columns, uint64_t rows_max) : to_(to), columns_(columns), rows_max_(rows_max) {}
  Result<bool> frame(const FrameView& frame) override {
    TRACKER_RETURN_IF_ERROR(to_->read_frame(frame, columns_));
    return to_->rows() < rows_max_;
  }
  Result<bool> segment(SegmentView* segment, PointRange* wanted) override {
    return to_->read_segment(segment, columns_, rows_max_, wanted);
  }

 private:
  Gatherer* const to_;
  const Columns& columns_;
  const uint64_t rows_max_;
};

Gatherer::Columns Gatherer::columns_of(const WriterSnapshot& writer) const {
  std::unordered_map<std::string_view, size_t> by_name;
  for (size_t i = 0; i < targets_.size(); ++i) by_name.emplace(targets_[i].metric->name, i);
  Columns columns;
  for (const SeriesStats& series : writer.series) {
    const auto found = by_name.find(series.def.name);
    if (found != by_name.end() && series.points > 0) columns[series.def.id] = {found->second, series.def.type};
  }
  return columns;
}

Status Gatherer::read_writer(const WriterSnapshot& writer, WriterReader* reader, std::vector<LogDamage>* damage) {
  LogPosition at;
  return read_log(writer, reader, &at, UINT64_MAX, damage);
}

Status Gatherer::read_log(const WriterSnapshot& writer, WriterReader* reader, LogPosition* at, uint64_t rows_max,
                          std::vector<LogDamage>* damage) {
  return read_log_to(writer, reader, at, writer.end_of_log(), rows_max, damage);
}

Status Gatherer::read_log_to(const WriterSnapshot& writer, WriterReader* reader, LogPosition* at,
                             const LogPosition& end, uint64_t rows_max, std::vector<LogDamage>* damage) {
  const Columns columns = columns_of(writer);
  if (columns.empty()) {
    if (at->seq < end.seq) *at = end;
    return Status();
  }
  for (Target& target : targets_) target.writer_begin = target.frame_begin = target.history.steps.size();
  Visitor visitor(this, columns, rows_max);
  const Status status = reader->read(at, end, &visitor, damage);
  for (Target& target : targets_) note_source(&target, writer.identity);
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

Status Gatherer::read_frame(const FrameView& frame, const Columns& columns) {
  for (const FrameView::BlockView& view : frame.blocks()) {
    FrameRowBlock block(view);
    const Status status = read_block(&block, columns);
    if (status.ok()) continue;
    drop_frame();
    return status;
  }
  for (Target& target : targets_) {
    if (target.block_begins.size() > 1) sort_rows(&target);
    finish_frame(&target);
  }
  return Status();
}

// Where not all of the segment is wanted, or it may be too much, the ordinals say which rows come first.
Result<bool> Gatherer::read_segment(SegmentView* segment, const Columns& columns, uint64_t rows_max,
                                    PointRange* wanted) {
  const bool partial = wanted->first > 0 || wanted->last < segment->points();
  if (wanted->first >= wanted->last) return true;
  const uint64_t before = rows();
  const bool bounded = rows_max != UINT64_MAX;
  const uint64_t last = wanted->last;
  Status status = read_blocks(segment, columns, partial || bounded);
  if (status.code() == Code::kCorrupt && targets_.size() > 1) {
    TRACKER_RETURN_IF_ERROR(read_apart(segment, columns, partial, wanted));
    return true;
  }
  const uint64_t room = bounded ? rows_max - std::min(rows_max, before) : UINT64_MAX;
  if (status.ok() && rows() > before && (partial || rows() - before > room))
    status = cut_segment(segment, room, wanted);
  if (!status.ok()) {
    drop_frame();
    return status;
  }
  for (Target& target : targets_) finish_frame(&target);
  return wanted->last == last && rows() < rows_max;
}

// Where a part of the segment is damaged: each metric by itself, so that those whose parts are sound have their rows.
// Not bounded, for what it leaves out would be passed over with the damage.
Status Gatherer::read_apart(SegmentView* segment, const Columns& columns, bool partial, PointRange* wanted) {
  drop_frame();
  Status damage;
  for (size_t i = 0; i < targets_.size(); ++i) {
    Columns own;
    for (const auto& [id, column] : columns)
      if (column.target == i) own.emplace(id, column);
    const Status status = own.empty() ? Status() : read_blocks(segment, own, partial);
    if (!status.ok()) drop_rows(&targets_[i]);
    if (damage.ok()) damage = status;
  }
  const Status cut = partial ? cut_segment(segment, UINT64_MAX, wanted) : Status();
  if (!cut.ok()) drop_frame();
  for (Target& target : targets_) finish_frame(&target);
  return damage;
}

Status Gatherer::read_blocks(SegmentView* segment, const Columns& columns, bool with_order) {
  for (size_t b = 0; b < segment->blocks().size(); ++b) {
    if (has_ranges() && !may_hold(segment->blocks()[b], steps_, times_us_)) continue;
    SegmentRowBlock block(segment, b, with_order);
    if (has_ranges() && holds_any(block, columns)) TRACKER_RETURN_IF_ERROR(block.narrow(steps_, times_us_));
    TRACKER_RETURN_IF_ERROR(read_block(&block, columns));
  }
  for (Target& target : targets_) sort_rows(&target);
  return {};
}

// Of the rows just read those that are wanted, and of these at most about `room`. A call's rows stay together.
Status Gatherer::cut_segment(SegmentView* segment, uint64_t room, PointRange* wanted) {
  auto order = SegmentOrder::of(segment);
  if (!order.ok()) return order.status();
  OrdinalRange range = order->ordinals(*wanted);
  for (Target& target : targets_) keep_ordinals(range, &target);
  range.last = ordinal_after(room);
  if (range.last == INT64_MAX) return {};
  for (Target& target : targets_) keep_ordinals(range, &target);
  wanted->last = order->points_below(range.last);
  return {};
}

// The ordinal that the first `rows` rows of the segment lie below, a call at least; INT64_MAX when there are no more.
int64_t Gatherer::ordinal_after(uint64_t rows) const {
  std::vector<int64_t> ordinals;
  for (const Target& target : targets_) ordinals.insert(ordinals.end(), target.order.begin(), target.order.end());
  if (ordinals.size() <= rows) return INT64_MAX;
  const auto nth = ordinals.begin() + static_cast<std::ptrdiff_t>(rows);
  std::nth_element(ordinals.begin(), nth, ordinals.end());
  return std::max(*nth, *std::min_element(ordinals.begin(), nth + 1) + 1);
}

Status Gatherer::read_block(RowBlock* block, const Columns& columns) {
  std::optional<BlockRows> rows;
  for (size_t i = 0; i < block->series().size(); ++i) {
    const auto found = columns.find(block->series()[i]);
    if (found == columns.end()) continue;
    const Column& column = found->second;
    if (block->types()[i] != column.type)
      return Status(Code::kCorrupt, fmt::format("series {} has another type than its definition", block->series()[i]));
    if (rows) {
      copy_rows(*rows, column.target);
    } else {
      rows.emplace();
      TRACKER_RETURN_IF_ERROR(read_rows(block, column.target, &*rows));
    }
    if (rows->count == 0) return Status();
    TRACKER_RETURN_IF_ERROR(read_values(block, i, column));
  }
  return Status();
}

// Steps and times into the target that comes first. Where no row of the block is wanted none is kept and its values
// need no decoding; else the rows are chosen once their order in the frame is known.
Status Gatherer::read_rows(RowBlock* block, size_t target, BlockRows* rows) {
  History& history = targets_[target].history;
  const size_t begin = history.steps.size();
  *rows = {target, begin, block->rows(), block->has_order()};
  if (block->has_steps()) TRACKER_RETURN_IF_ERROR(block->steps(&history.steps));
  else history.steps.resize(begin + block->rows(), 0);
  TRACKER_RETURN_IF_ERROR(block->times(&history.times_us));
  if (has_ranges() && count_wanted(history, begin, block->has_steps()) == 0) {
    history.steps.resize(begin);
    history.times_us.resize(begin);
    rows->count = 0;
    return Status();
  }
  targets_[target].block_begins.push_back(begin);
  if (block->has_order()) TRACKER_RETURN_IF_ERROR(block->order(&targets_[target].order));
  if (!block->has_steps() && history.has_step.empty()) history.has_step.assign(begin, 1);
  if (!block->has_steps() || !history.has_step.empty())
    history.has_step.resize(begin + block->rows(), block->has_steps() ? 1 : 0);
  return Status();
}

// How many rows from `begin` on lie in the ranges; `keep_` has which.
size_t Gatherer::count_wanted(const History& history, size_t begin, bool has_steps) {
  constexpr Int64Range kAll;
  const Int64Range steps = steps_.value_or(kAll), times = times_us_.value_or(kAll);
  const size_t rows = history.steps.size() - begin;
  keep_.resize(rows);
  size_t count = 0;
  for (size_t i = 0; i < rows; ++i) {  // no branch a row
    const int64_t step = history.steps[begin + i], time = history.times_us[begin + i];
    keep_[count] = static_cast<uint32_t>(i);
    count += static_cast<size_t>(step >= steps.min) & static_cast<size_t>(step <= steps.max) &
             static_cast<size_t>(time >= times.min) & static_cast<size_t>(time <= times.max);
  }
  keep_.resize(steps_ && !has_steps ? 0 : count);
  return keep_.size();
}

void Gatherer::copy_rows(const BlockRows& rows, size_t target) {
  const History& from = targets_[rows.target].history;
  History& to = targets_[target].history;
  const size_t begin = to.steps.size();
  targets_[target].block_begins.push_back(begin);
  if (rows.has_order) {
    const std::vector<int64_t>& known = targets_[rows.target].order;
    const std::vector<int64_t> ordinals(known.end() - static_cast<std::ptrdiff_t>(rows.count), known.end());
    targets_[target].order.insert(targets_[target].order.end(), ordinals.begin(), ordinals.end());
  }
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

Status Gatherer::read_values(RowBlock* block, size_t column, const Column& to) {
  Target& target = targets_[to.target];
  std::vector<uint64_t>& bits = target.several_types() ? target.history.own_bits : target.history.bits;
  TRACKER_RETURN_IF_ERROR(block->values(column, &bits));
  if (target.several_types()) target.history.own_types.resize(bits.size(), static_cast<uint8_t>(to.type));
  return Status();
}

void Gatherer::finish_frame(Target* target) {
  History& history = target->history;
  const size_t begin = target->frame_begin;
  target->block_begins.clear();
  target->order.clear();
  if (has_ranges() && history.steps.size() > begin) keep_wanted(begin, &history);
  target->frame_begin = history.steps.size();
}

// Blocks hold calls of one shape, so a metric logged in two shapes by turns comes as two blocks; and segments sort
// theirs by step: the rows are restored to the order of the calls.
void Gatherer::sort_rows(Target* target) {
  std::vector<int64_t>& ordinals = target->order;
  const size_t begin = target->frame_begin;
  if (ordinals.size() != target->history.steps.size() - begin) return;  // a writer that kept no order
  if (std::is_sorted(ordinals.begin(), ordinals.end())) return;
  std::vector<size_t> order(ordinals.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ordinals[a] < ordinals[b]; });
  for_each_column(&target->history, [&order, begin](auto* column) {
    std::remove_reference_t<decltype(*column)> tail;
    tail.reserve(order.size());
    for (const size_t row : order) tail.push_back((*column)[begin + row]);
    std::copy(tail.begin(), tail.end(), column->begin() + static_cast<std::ptrdiff_t>(begin));
  });
  std::sort(ordinals.begin(), ordinals.end());
}

// Of the rows of this segment, which are sorted by ordinal.
void Gatherer::keep_ordinals(const OrdinalRange& range, Target* target) {
  std::vector<int64_t>& order = target->order;
  const auto first = std::lower_bound(order.begin(), order.end(), range.first) - order.begin();
  const auto last = std::lower_bound(order.begin(), order.end(), range.last) - order.begin();
  const auto keep = [first, last](auto* column, size_t begin) {
    const auto rows = column->begin() + static_cast<std::ptrdiff_t>(begin);
    column->erase(rows + last, column->end());
    column->erase(column->begin() + static_cast<std::ptrdiff_t>(begin),
                  column->begin() + static_cast<std::ptrdiff_t>(begin) + first);
  };
  for_each_column(&target->history, [&](auto* column) { keep(column, target->frame_begin); });
  keep(&order, 0);
}

void Gatherer::keep_wanted(size_t begin, History* history) {
  const bool may_lack_steps = !history->has_step.empty() && steps_.has_value();
  if (count_wanted(*history, begin, true) == history->steps.size() - begin && !may_lack_steps) return;
  if (may_lack_steps)
    std::erase_if(keep_, [history, begin](uint32_t row) { return history->has_step[begin + row] == 0; });
  for_each_column(history, [this, begin](auto* column) { keep_rows(keep_, begin, column); });
}

// A frame counts as a whole or not at all: half of its columns would pair values with the wrong steps.
void Gatherer::drop_frame() {
  for (Target& target : targets_) drop_rows(&target);
}

void Gatherer::drop_rows(Target* target) {
  cut_rows(&target->history, target->frame_begin);
  target->block_begins.clear();
  target->order.clear();
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
