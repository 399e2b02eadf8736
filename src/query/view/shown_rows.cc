// SPDX-License-Identifier: MIT
#include "query/view/shown_rows.h"

#include <algorithm>
#include <tuple>
#include <utility>

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

// What the statistics of a series tell when all of its rows are shown; which row was the first by time and which the
// last they do not tell.
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

}  // namespace

// The metrics that are completed, by the writers that have rows of them: which parts must be looked at, and which of
// them hold the first and the last row.
class ShownRows::Choice {
 public:
  Choice(const std::vector<WriterSnapshot>& writers, std::vector<MetricInfo>* metrics) : writers_(writers) {
    for (MetricInfo& metric : *metrics)
      if (needs_rows(metric)) metrics_[metric.name].info = &metric;
    const Shadow shadow(writers);
    for (size_t i = 0; i < writers.size() && !metrics_.empty(); ++i) {
      const int64_t shown_up_to = shadow.shown_up_to(writers[i].identity.attempt);
      for (const SeriesStats& series : writers[i].series) add(i, series, shown_up_to);
    }
  }
  bool none() const { return metrics_.empty(); }

  // Of each writer the metrics whose part in it must be folded, and those whose first or last row must be read there,
  // once nothing must be folded. Both empty: all is known.
  std::map<size_t, Names> to_fold() {
    for (auto& [name, metric] : metrics_)
      for (const Part* part : {first_of(metric), last_of(metric)})
        if (part != nullptr && !part->folded) to_fold_[part->writer].insert(name);
    return std::exchange(to_fold_, {});
  }
  std::map<size_t, std::map<std::string, Ends>> to_read() const {
    std::map<size_t, std::map<std::string, Ends>> out;
    for (const auto& [name, metric] : metrics_) {
      if (const Part* const part = first_of(metric); part != nullptr && !part->of.first.read)
        out[part->writer][name].first = true;
      if (const Part* const part = last_of(metric); part != nullptr && !part->of.last.read)
        out[part->writer][name].last = true;
    }
    return out;
  }
  void set(size_t writer, const std::string& name, const ShownPart& part) {
    for (Part& each : metrics_.at(name).parts)
      if (each.writer == writer) each = {writer, true, part};
  }
  void finish() {
    for (auto& [name, metric] : metrics_) finish(&metric);
  }

 private:
  struct Part {
    size_t writer = 0;
    bool folded = false;
    ShownPart of;
  };
  struct Metric {
    MetricInfo* info = nullptr;
    std::vector<Part> parts;  // in the order of writers_
  };

  void add(size_t writer, const SeriesStats& series, int64_t shown_up_to) {
    const auto metric = metrics_.find(series.def.name);
    if (metric == metrics_.end() || series.points == 0) return;
    std::vector<Part>& parts = metric->second.parts;
    if (parts.empty() || parts.back().writer != writer) parts.push_back({writer, false, {}});
    append_part(part_of(series), &parts.back().of);
    if (series.has_steps && series.step_max > shown_up_to) to_fold_[writer].insert(series.def.name);
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
  std::map<std::string, Metric> metrics_;
  std::map<size_t, Names> to_fold_;
};

// A part stays true while its writer goes on, is cut at the same step and loses no file.
void ShownRows::forget_others(const std::vector<WriterSnapshot>& writers) {
  const Shadow shadow(writers);
  std::map<Id128, Folds> kept;
  for (const WriterSnapshot& writer : writers) {
    Folds& folds = kept[writer.identity.writer];
    folds.shown_up_to = shadow.shown_up_to(writer.identity.attempt);
    folds.missing = writer.missing.log_points;
    const auto known = writers_.find(writer.identity.writer);
    if (known == writers_.end() || known->second.shown_up_to != folds.shown_up_to ||
        known->second.missing != folds.missing)
      continue;
    folds.by_metric = std::move(known->second.by_metric);
    const LogPosition end = writer.end_of_log();
    std::erase_if(folds.by_metric, [&end](const auto& fold) {
      return fold.second.at.seq > end.seq || fold.second.at.points > end.points;
    });
  }
  writers_ = std::move(kept);
}

Status ShownRows::complete(const std::vector<WriterSnapshot>& writers, const ReaderOf& reader_of,
                           std::vector<MetricInfo>* metrics, std::vector<LogDamage>* damage) {
  Choice choice(writers, metrics);
  if (choice.none()) return {};
  forget_others(writers);
  std::map<size_t, std::vector<LogDamage>> found;
  const auto look_at = [&](size_t i) {
    return Look{&writers[i], reader_of(i), &writers_[writers[i].identity.writer], &found[i]};
  };
  Status status;
  for (bool more = true; more && status.ok();) {
    more = false;
    for (const auto& [writer, names] : choice.to_fold()) {
      more = true;
      const Look look = look_at(writer);
      if (status.ok()) status = fold(look, names);
      for (const std::string& name : names) choice.set(writer, name, look.folds->by_metric[name].part);
    }
    if (more) continue;  // another part may hold the rows now
    for (const auto& [writer, ends] : choice.to_read()) {
      more = true;
      const Look look = look_at(writer);
      if (status.ok()) status = read_ends(look, ends);
      for (const auto& [name, which] : ends) choice.set(writer, name, look.folds->by_metric[name].part);
    }
  }
  if (status.ok()) choice.finish();
  // What is damaged is looked at anew, and named again, the next time.
  for (auto& [writer, lines] : found) {
    if (!lines.empty()) writers_.erase(writers[writer].identity.writer);
    std::move(lines.begin(), lines.end(), std::back_inserter(*damage));
  }
  return status;
}

// Those that were looked at up to the same place are read together.
Status ShownRows::fold(const Look& look, const Names& names) {
  std::map<std::tuple<uint64_t, uint64_t, bool>, std::vector<std::string>> groups;
  for (const std::string& name : names) {
    const Fold& of = look.folds->by_metric[name];
    if (of.at != look.writer->end_of_log()) groups[{of.at.seq, of.at.points, of.decode_all}].push_back(name);
  }
  for (const auto& [from, group] : groups) TRACKER_RETURN_IF_ERROR(fold_from(look, group));
  return {};
}

Status ShownRows::fold_from(const Look& look, const std::vector<std::string>& names) {
  const ShownColumns columns = columns_of(*look.writer, names);
  LogPosition at = look.folds->by_metric[names.front()].at;
  ShownVisitor visitor(columns, names.size(), look.folds->shown_up_to, look.folds->by_metric[names.front()].decode_all);
  TRACKER_RETURN_IF_ERROR(look.reader->read(&at, look.writer->end_of_log(), &visitor, look.damage));
  decoded_blocks_ += visitor.decoded_blocks();
  for (size_t i = 0; i < names.size(); ++i) {
    Fold& of = look.folds->by_metric[names[i]];
    append_part(visitor.parts()[i], &of.part);
    of.at = at;
  }
  return {};
}

// Where a row is not as the directory says, all rows of the metric are decoded.
Status ShownRows::read_ends(const Look& look, const std::map<std::string, Ends>& ends) {
  std::map<uint64_t, std::map<std::string, Ends>> groups;
  for (const auto& [name, which] : ends) {
    const ShownPart& part = look.folds->by_metric[name].part;
    if (which.first) groups[part.first.after_seq][name].first = true;
    if (which.last) groups[part.last.after_seq][name].last = true;
  }
  for (const auto& [seq, group] : groups) TRACKER_RETURN_IF_ERROR(read_ends_after(look, seq, group));
  Names again;
  for (const auto& [name, which] : ends) {
    Fold& of = look.folds->by_metric[name];
    if ((!which.first || of.part.first.read) && (!which.last || of.part.last.read)) continue;
    of = Fold();
    of.decode_all = true;
    again.insert(name);
  }
  return fold(look, again);
}

Status ShownRows::read_ends_after(const Look& look, uint64_t seq, const std::map<std::string, Ends>& ends) {
  std::vector<std::string> names;
  std::vector<ShownEndVisitor::Wanted> wanted;
  for (const auto& [name, which] : ends) {
    const ShownPart& part = look.folds->by_metric[name].part;
    names.push_back(name);
    wanted.push_back({which.first, which.last, part.first.time_us, part.last.time_us});
  }
  const ShownColumns columns = columns_of(*look.writer, names);
  ShownEndVisitor visitor(columns, wanted, look.folds->shown_up_to);
  LogPosition at{seq, 0};
  TRACKER_RETURN_IF_ERROR(look.reader->read(&at, look.writer->end_of_log(), &visitor, look.damage));
  decoded_blocks_ += visitor.decoded_blocks();
  for (size_t i = 0; i < names.size(); ++i) {
    ShownPart& part = look.folds->by_metric[names[i]].part;
    if (visitor.first(i).read) part.first = visitor.first(i);
    if (visitor.last(i).read) part.last = visitor.last(i);
  }
  return {};
}

}  // namespace tracker::internal
