// SPDX-License-Identifier: MIT
#include "codec/segment_encode.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "codec/best_column.h"
#include "codec/segment_layout.h"
#include "codec/shuffled.h"

namespace tracker::internal {
namespace {

// By step, rows of one step in the order of the calls; without steps in raw order.
bool in_order(const ShapeRows& rows, uint64_t a, uint64_t b) {
  if (rows.has_steps && rows.steps[a] != rows.steps[b]) return rows.steps[a] < rows.steps[b];
  return rows.ordinals[a] < rows.ordinals[b];
}

template <typename T>
void permute(std::vector<T>* column, const std::vector<uint64_t>& order) {
  if (column->empty()) return;
  std::vector<T> out(column->size());
  for (size_t i = 0; i < order.size(); ++i) out[i] = (*column)[order[i]];
  column->swap(out);
}

// The order in which to write the values; empty: the present order.
std::vector<uint64_t> sort_rows(ShapeRows* rows) {
  uint64_t row = 1;
  while (row < rows->rows() && in_order(*rows, row - 1, row)) ++row;
  if (row >= rows->rows()) return {};
  std::vector<uint64_t> order(rows->rows());
  std::iota(order.begin(), order.end(), uint64_t{0});
  std::stable_sort(order.begin(), order.end(), [rows](uint64_t a, uint64_t b) { return in_order(*rows, a, b); });
  permute(&rows->steps, order);
  permute(&rows->times_us, order);
  permute(&rows->ordinals, order);
  return order;
}

std::span<const uint64_t> words(const std::vector<int64_t>& values) {
  return {reinterpret_cast<const uint64_t*>(values.data()), values.size()};  // the two may alias each other
}

class SegmentEncoder {
 public:
  explicit SegmentEncoder(SegmentParts* in) : in_(in) {}

  Result<std::string> run() {
    find_times();
    directory_.varint(in_->frames.size());
    directory_.zigzag(in_->times.first_us);
    directory_.varint(static_cast<uint64_t>(in_->times.last_us) - static_cast<uint64_t>(in_->times.first_us));
    put_log();
    put_frames();
    const auto& shapes = in_->rows.shapes();
    directory_.varint(shapes.size());
    for (ShapeRows& shape : in_->rows.shapes()) {
      put_block(&shape, shapes.size() > 1);
      shape = ShapeRows();  // written: its memory is free for the next ones
    }
    return join();
  }

 private:
  // Over rows and events, as in a frame.
  void find_times() {
    bool any = false;
    const auto widen = [&](int64_t time) {
      in_->times.first_us = any ? std::min(in_->times.first_us, time) : time;
      in_->times.last_us = any ? std::max(in_->times.last_us, time) : time;
      any = true;
    };
    for (const ShapeRows& shape : in_->rows.shapes())
      std::for_each(shape.times_us.begin(), shape.times_us.end(), widen);
    for (const Event& event : in_->log.events) widen(event.time_us);
  }

  void put_part(size_t begin) {
    const std::string_view part = std::string_view(parts_).substr(begin);
    directory_.varint(part.size());
    if (!part.empty()) directory_.u32(crc32c(part));
  }
  void put_column(std::span<const uint64_t> bits, ValueType type) {
    const size_t begin = parts_.size();
    encode_best_column(bits, type, &parts_);
    put_part(begin);
  }

  // Everything except the rows is written as a frame. After it: for each definition, event and loss the number of its
  // frame.
  void put_log() {
    const size_t begin = parts_.size();
    const SegmentLog& log = in_->log;
    if (!log.defs.empty() || !log.events.empty() || !log.losses.empty()) {
      ByteWriter numbers;
      for (const auto* seqs : {&log.def_seqs, &log.event_seqs, &log.loss_seqs}) {
        uint64_t before = in_->frames.front().seq;
        for (const uint64_t seq : *seqs) {
          numbers.varint(seq - before);
          before = seq;
        }
      }
      const uint64_t last_seq = in_->frames.back().seq;
      const std::string plain =
          encode_frame(Frame{in_->writer, last_seq, log.defs, {}, log.events, log.losses}) + numbers.buffer();
      std::string compressed;
      compress(plain, &compressed);
      ByteWriter out;
      const bool smaller = compressed.size() < plain.size();
      out.u8(smaller ? kLogCompressed : kLogPlain);
      if (smaller) out.varint(plain.size());
      parts_ += out.buffer();
      parts_ += smaller ? compressed : plain;
    }
    put_part(begin);
  }

  // The numbers of the frames if any is missing, and the rows of each.
  void put_frames() {
    std::vector<uint64_t> numbers, rows;
    for (const SegmentFrame& frame : in_->frames) {
      numbers.push_back(frame.seq);
      rows.push_back(frame.rows);
    }
    if (numbers.back() - numbers.front() == numbers.size() - 1) put_part(parts_.size());
    else put_column(numbers, ValueType::kInt64);
    put_column(rows, ValueType::kInt64);
  }

  void put_block(ShapeRows* shape, bool has_order) {
    const std::vector<uint64_t> order = sort_rows(shape);
    has_order = has_order || !std::is_sorted(shape->ordinals.begin(), shape->ordinals.end());
    const auto& steps = shape->steps;
    const auto falls = [](int64_t a, int64_t b) { return b <= a; };
    const bool increase = shape->has_steps && std::adjacent_find(steps.begin(), steps.end(), falls) == steps.end();
    directory_.varint(shape->rows());
    directory_.u8(static_cast<uint8_t>((shape->has_steps ? kRowsHaveSteps : 0) | (increase ? kStepsIncrease : 0) |
                                       (has_order ? kRowsHaveOrder : 0)));
    const auto [first, last] = std::minmax_element(shape->times_us.begin(), shape->times_us.end());
    directory_.varint(static_cast<uint64_t>(*first) - static_cast<uint64_t>(in_->times.first_us));
    directory_.varint(static_cast<uint64_t>(*last) - static_cast<uint64_t>(*first));
    if (shape->has_steps) {
      directory_.zigzag(steps.front());
      directory_.varint(static_cast<uint64_t>(steps.back()) - static_cast<uint64_t>(steps.front()));
      put_column(words(steps), ValueType::kInt64);
    }
    put_column(words(shape->times_us), ValueType::kInt64);
    if (has_order) put_column(shape->ordinals, ValueType::kInt64);
    directory_.varint(shape->series.size());
    size_t before = 0;
    for (size_t i = 0; i < shape->series.size(); before += value_width(shape->types[i++])) {
      shape->widen(i, before, &bits_);
      if (!order.empty()) permute(&bits_, order);
      put_series(*shape, i);
    }
  }

  // The values of the series are in bits_.
  void put_series(const ShapeRows& shape, size_t i) {
    const ValueType type = shape.types[i];
    const auto minis = summarize_minis(bits_, type);
    const ValueSummary all = summarize_block(minis, bits_, type);
    const bool same = std::all_of(bits_.begin(), bits_.end(), [this](uint64_t v) { return v == bits_[0]; });
    directory_.varint(shape.series[i] - (i > 0 ? shape.series[i - 1] : 0));
    directory_.u8(static_cast<uint8_t>(type));
    put_summary(all, same, type);
    put_column(bits_, type);
  }

  void put_number(uint64_t bits, ValueType type) {
    if (type == ValueType::kInt64) return directory_.zigzag(static_cast<int64_t>(bits));
    directory_.bytes({reinterpret_cast<const char*>(&bits), value_width(type)});
  }
  void put_summary(const ValueSummary& all, bool same, ValueType type) {
    const bool some_not_finite = all.finite() < all.rows;
    directory_.u8(static_cast<uint8_t>((some_not_finite ? kSomeNotFinite : 0) | (same ? kAllTheSame : 0)));
    if (some_not_finite)
      for (const uint64_t count : {all.nan, all.pos_inf, all.neg_inf}) directory_.varint(count);
    put_number(all.first_bits, type);
    if (!same) put_number(all.last_bits, type);
    if (all.finite() == 0) return;
    if (!same) {
      put_number(all.min_bits, type);
      put_number(all.max_bits, type);
    }
    directory_.u64(bits_of(all.sum));
  }

  Result<std::string> join() {
    const size_t size = kSegmentHeaderBytes + directory_.size() + parts_.size();
    if (size > kSegmentBytesMax) return Status(Code::kLimit, fmt::format("a segment of {} bytes", size));
    ByteWriter out;
    out.buffer().reserve(size);
    out.bytes(kSegmentMagic);
    out.u16(kSegmentVersion);
    out.u16(0);
    out.u32(static_cast<uint32_t>(size));
    out.bytes(in_->writer.view());
    out.u64(in_->frames.front().seq);
    out.u64(in_->frames.back().seq);
    out.u32(static_cast<uint32_t>(directory_.size()));
    out.u32(crc32c(directory_.buffer(), crc32c(out.buffer())));
    out.bytes(directory_.buffer());
    out.bytes(parts_);
    return out.take();
  }

  SegmentParts* in_;
  ByteWriter directory_;
  std::string parts_;
  std::vector<uint64_t> bits_;
};

}  // namespace

Result<std::string> encode_segment(SegmentParts* parts) { return SegmentEncoder(parts).run(); }

}  // namespace tracker::internal
