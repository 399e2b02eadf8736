// SPDX-License-Identifier: MIT
#include "query/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <type_traits>
#include <utility>

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

Gatherer::Gatherer(const std::vector<const MetricInfo*>& metrics) {
  // The counts come from a file: a wrong one must not make us ask for the whole memory at once.
  constexpr uint64_t kReserveRowsMax = 32u << 20;
  for (const MetricInfo* metric : metrics) {
    Target target;
    target.metric = metric;
    target.history.type = common_type(metric->types);
    const size_t rows = std::min(metric->points, kReserveRowsMax);
    target.history.steps.reserve(rows);
    target.history.times_us.reserve(rows);
    (target.several_types() ? target.history.own_bits : target.history.bits).reserve(rows);
    targets_.push_back(std::move(target));
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
  const auto columns = columns_of(writer);
  if (columns.empty()) return Status();
  for (Target& target : targets_) target.writer_begin = target.frame_begin = target.history.steps.size();
  const Status status = reader->frames(
      0,
      [&](uint64_t seq, std::string_view bytes) {
        if (seq > writer.last_seq) return false;  // committed after the snapshot: all metrics end at the same frame
        const Status read = read_frame(bytes, columns);
        if (!read.ok() && damage != nullptr)
          damage->push_back(fmt::format("{}: frame {}: {}", reader->path(), seq, read.message()));
        return true;
      },
      damage);
  for (Target& target : targets_) note_source(&target, writer.identity);
  return status;
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
    for (size_t i = 0; i < block.series.size(); ++i) {
      const auto column = columns.find(block.series[i]);
      if (column == columns.end()) continue;
      const Status status =
          block.types[i] == column->second.type
              ? read_column(block, block.values[i], column->second)
              : Status(Code::kCorrupt, fmt::format("series {} has another type than its definition", block.series[i]));
      if (!status.ok()) {
        drop_frame();
        return status;
      }
    }
  }
  for (Target& target : targets_) finish_frame(&target);
  return Status();
}

Status Gatherer::read_column(const FrameView::BlockView& block, std::string_view values, const Column& column) {
  Target& target = targets_[column.target];
  History& history = target.history;
  const size_t before = history.steps.size();
  ++target.blocks_in_frame;
  TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.times, block.rows, &history.times_us));
  TRACKER_RETURN_IF_ERROR(FrameView::read_values(values, block.rows, column.type,
                                                 target.several_types() ? &history.own_bits : &history.bits));
  if (block.has_order) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.order, block.rows, &target.order));
  if (block.has_steps) TRACKER_RETURN_IF_ERROR(FrameView::read_ints(block.steps, block.rows, &history.steps));
  else history.steps.resize(before + block.rows, 0);
  if (!block.has_steps && history.has_step.empty()) history.has_step.assign(before, 1);
  if (!block.has_steps || !history.has_step.empty())
    history.has_step.resize(before + block.rows, block.has_steps ? 1 : 0);
  if (target.several_types()) history.own_types.resize(before + block.rows, static_cast<uint8_t>(column.type));
  return Status();
}

// Blocks hold calls of one shape, so a metric logged in two shapes by turns comes as two blocks: their rows are put
// back into the order of the calls.
void Gatherer::finish_frame(Target* target) {
  History& history = target->history;
  const size_t begin = target->frame_begin;
  const int blocks = std::exchange(target->blocks_in_frame, 0);
  target->frame_begin = history.steps.size();
  const std::vector<int64_t> ordinals = std::exchange(target->order, {});
  if (blocks < 2 || ordinals.size() != history.steps.size() - begin) return;
  if (std::is_sorted(ordinals.begin(), ordinals.end())) return;
  std::vector<size_t> order(ordinals.size());
  std::iota(order.begin(), order.end(), begin);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return ordinals[a - begin] < ordinals[b - begin]; });
  const auto sort_tail = [&order, begin](auto* column) {
    if (column->empty()) return;
    std::remove_reference_t<decltype(*column)> tail;
    tail.reserve(order.size());
    for (const size_t row : order) tail.push_back((*column)[row]);
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
    target.blocks_in_frame = 0;
    target.order.clear();
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
