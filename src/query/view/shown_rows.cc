// SPDX-License-Identifier: MIT
#include "query/view/shown_rows.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "query/rows/shown_visitor.h"
#include "query/view/attempts.h"
#include "query/view/merge.h"

namespace tracker::internal {
namespace {

ShownColumns columns_of(const WriterSnapshot& writer, const std::vector<std::string>& names) {
  ShownColumns out;
  for (const SeriesStats& series : writer.series) {
    const auto at = std::lower_bound(names.begin(), names.end(), series.def.name);
    if (at == names.end() || *at != series.def.name || series.points == 0) continue;
    out[series.def.id] = {static_cast<size_t>(at - names.begin()), series.def.type};
  }
  return out;
}

// What the statistics of a series contain when all of its rows are shown; which row was the first by time and which the
// last they do not contain.
ShownPart part_of(const SeriesStats& series) {
  ShownPart out;
  out.points = series.points;
  out.finite = series.finite;
  out.nan = series.nan;
  out.min = series.min;
  out.max = series.max;
  out.sum = series.sum;
  out.first.time_us = series.time_first_us;
  out.last.time_us = series.time_last_us;
  return out;
}

// The metrics that are completed, by the writers that have rows of them.
class Completion {
 public:
  Completion(const std::vector<WriterSnapshot>& writers, const ReaderOfWriter& reader_of,
             std::vector<MetricInfo>* metrics, std::vector<LogDamage>* damage)
      : writers_(writers), reader_of_(reader_of), damage_(damage), shadow_(writers) {
    for (MetricInfo& metric : *metrics)
      if (needs_rows(metric)) metrics_[metric.name].info = &metric;
    for (size_t i = 0; i < writers.size() && !metrics_.empty(); ++i)
      for (const SeriesStats& series : writers[i].series) add(i, series);
  }

  Status run() {
    for (auto wanted = parts_to_read(); !wanted.empty(); wanted = parts_to_read())
      for (const auto& [writer, names] : wanted) TRACKER_RETURN_IF_ERROR(read(writer, {names.begin(), names.end()}));
    for (auto& [name, metric] : metrics_) finish(&metric);
    return {};
  }
  uint64_t decoded_blocks() const { return decoded_blocks_; }

 private:
  struct Part {
    size_t writer = 0;
    bool is_cut = false;  // a resume shadows rows of it
    int reads = 0;        // of its log; 0: `of` comes from the table of series
    ShownPart of;
  };
  struct Metric {
    MetricInfo* info = nullptr;
    std::vector<Part> parts;  // in the order of writers_
  };

  void add(size_t writer, const SeriesStats& series) {
    const auto metric = metrics_.find(series.def.name);
    if (metric == metrics_.end() || series.points == 0) return;
    std::vector<Part>& parts = metric->second.parts;
    if (parts.empty() || parts.back().writer != writer) parts.push_back({writer, false, 0, {}});
    append_part(part_of(series), &parts.back().of);
    parts.back().is_cut |= series.has_steps && series.step_max > shown_up_to(writer);
  }
  int64_t shown_up_to(size_t writer) const { return shadow_.shown_up_to(writers_[writer].identity.attempt); }

  // Of each writer the metrics that must be read there: cut ones, and those whose first or last row is not known. A
  // third read decodes all blocks, so there is no fourth.
  std::map<size_t, std::set<std::string>> parts_to_read() const {
    std::map<size_t, std::set<std::string>> out;
    for (const auto& [name, metric] : metrics_) {
      bool is_cut = false;
      for (const Part& part : metric.parts) {
        if (!part.is_cut || part.reads > 0) continue;
        out[part.writer].insert(name);
        is_cut = true;
      }
      if (is_cut) continue;  // which part holds the first and the last row is not known yet
      if (const Part* const part = first_of(metric); part != nullptr && !part->of.first.read)
        out[part->writer].insert(name);
      if (const Part* const part = last_of(metric); part != nullptr && !part->of.last.read)
        out[part->writer].insert(name);
    }
    return out;
  }

  // Metrics of one writer that were read as often are read together.
  Status read(size_t writer, const std::vector<std::string>& names) {
    std::map<int, std::vector<std::string>> groups;
    for (const std::string& name : names) groups[part(name, writer).reads].push_back(name);
    for (const auto& [reads, group] : groups) {
      const ShownColumns columns = columns_of(writers_[writer], group);
      std::vector<ShownPart> ends;
      for (const std::string& name : group) ends.push_back(part(name, writer).of);
      ShownVisitor visitor(columns, std::move(ends), shown_up_to(writer), reads >= 2);
      LogPosition at;
      TRACKER_RETURN_IF_ERROR(reader_of_(writer)->read(&at, writers_[writer].end_of_log(), &visitor, damage_));
      decoded_blocks_ += visitor.decoded_blocks();
      for (size_t i = 0; i < group.size(); ++i) {
        Part& read = part(group[i], writer);
        read.of = visitor.parts()[i];
        ++read.reads;
      }
    }
    return {};
  }
  Part& part(const std::string& name, size_t writer) {
    std::vector<Part>& parts = metrics_.at(name).parts;
    return *std::find_if(parts.begin(), parts.end(), [writer](const Part& each) { return each.writer == writer; });
  }

  const Part* first_of(const Metric& metric) const {
    const Part* out = nullptr;
    const auto key = [this](const Part& part) {
      return std::make_tuple(writers_[part.writer].identity.attempt, part.of.first.time_us);
    };
    for (const Part& part : metric.parts)
      if (part.of.points > 0 && (out == nullptr || key(part) < key(*out))) out = &part;
    return out;
  }
  const Part* last_of(const Metric& metric) const {
    const Part* out = nullptr;
    const auto key = [this](const Part& part) {
      const WriterIdentity& who = writers_[part.writer].identity;
      return std::make_tuple(who.attempt, -who.rank, part.of.last.time_us);
    };
    for (const Part& part : metric.parts)
      if (part.of.points > 0 && (out == nullptr || key(part) >= key(*out))) out = &part;
    return out;
  }

  void finish(Metric* metric) const {
    ShownPart all;
    for (const Part& part : metric->parts) append_part(part.of, &all);
    MetricInfo& info = *metric->info;
    ShownStats& shown = info.shown;
    shown = ShownStats();
    shown.points = all.points;
    shown.finite = all.finite;
    shown.nan = all.nan;
    shown.min = all.min;
    shown.max = all.max;
    shown.sum = all.sum;
    if (const Part* const first = first_of(*metric)) {
      shown.first_attempt = writers_[first->writer].identity.attempt;
      shown.first_time_us = first->of.first.time_us;
      info.first_type = first->of.first.type;
      info.first_bits = first->of.first.bits;
    }
    if (const Part* const last = last_of(*metric)) {
      shown.last_attempt = writers_[last->writer].identity.attempt;
      shown.last_rank = writers_[last->writer].identity.rank;
      shown.last_time_us = last->of.last.time_us;
      info.last_type = last->of.last.type;
      info.last_bits = last->of.last.bits;
      info.last_step = last->of.last.step;
    }
  }

  const std::vector<WriterSnapshot>& writers_;
  const ReaderOfWriter& reader_of_;
  std::vector<LogDamage>* damage_;
  const Shadow shadow_;
  std::map<std::string, Metric> metrics_;
  uint64_t decoded_blocks_ = 0;
};

}  // namespace

Status complete_shown(const std::vector<WriterSnapshot>& writers, const ReaderOfWriter& reader_of,
                      std::vector<MetricInfo>* metrics, std::vector<LogDamage>* damage, uint64_t* decoded_blocks) {
  Completion completion(writers, reader_of, metrics, damage);
  const Status status = completion.run();
  if (decoded_blocks != nullptr) *decoded_blocks = completion.decoded_blocks();
  return status;
}

}  // namespace tracker::internal
