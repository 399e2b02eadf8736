// SPDX-License-Identifier: MIT
// Numbers of runs in the binary form of http.md: charts of many metrics in one request, and every row of one metric.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/bytes.h"
#include "query/chart/chart_query.h"
#include "query/rows/packed.h"
#include "query/tail/tail.h"
#include "server/service_impl.h"

namespace tracker::internal {
namespace {

// Limit: pairs of run, key and rank of one request of charts. Beyond it: 400.
constexpr size_t kPairsMax = 1000;
constexpr uint64_t kRowsLimit = 100'000;
// Limit: rows of one answer. Beyond it: 400.
constexpr uint64_t kRowsLimitMax = 1'000'000;
constexpr size_t kSeriesAlign = 8;
constexpr uint32_t kSeriesVersion = 1;

// Columns of one response: its header has their offsets.
class SeriesAnswer {
 public:
  void begin(Value series) { series_.push_back({std::move(series), {}}); }
  template <typename T>
  void column(const char* name, const char* type, const std::vector<T>& values) {
    columns_.buffer().resize((columns_.size() + kSeriesAlign - 1) / kSeriesAlign * kSeriesAlign);
    series_.back().columns.push_back({name, type, columns_.size()});
    columns_.bytes({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }
  // The offsets depend on the header's length and the reverse: their fields have a fixed width.
  std::string finish() {
    constexpr size_t kBefore = 12;  // magic, version, size of the header
    const size_t guess = header(0).size() + offset_bytes();
    const size_t begin = (kBefore + guess + kSeriesAlign - 1) / kSeriesAlign * kSeriesAlign;
    std::string text = header(begin);
    text.resize(begin - kBefore, ' ');
    ByteWriter out;
    out.bytes("TSER");
    out.u32(kSeriesVersion);
    out.u32(static_cast<uint32_t>(text.size()));
    out.bytes(text);
    out.bytes(columns_.buffer());
    return out.take();
  }

 private:
  struct Column {
    const char* name;
    const char* type;
    size_t at;
  };
  struct Series {
    Value head;
    std::vector<Column> columns;
  };
  size_t offset_bytes() const {
    constexpr size_t kDigits = 20;
    size_t count = 0;
    for (const Series& each : series_) count += each.columns.size();
    return count * kDigits;
  }
  std::string header(size_t begin) const {
    Value::List list;
    for (const Series& each : series_) {
      Value::List columns;
      for (const Column& column : each.columns)
        columns.push_back(
            Value::Map{{"name", column.name}, {"type", column.type}, {"offset", count_value(begin + column.at)}});
      Value one = each.head;
      one.set("columns", std::move(columns));
      list.push_back(std::move(one));
    }
    return to_json(Value::Map{{"series", std::move(list)}});
  }

  std::vector<Series> series_;
  ByteWriter columns_;
};

Response series_response(SeriesAnswer* answer) {
  Response out;
  out.content_type = "application/vnd.tracker.series";
  out.body = answer->finish();
  return out;
}

// The parameters of a request for charts.
struct ChartsAsked {
  std::vector<std::string> runs, keys;
  std::vector<std::optional<int64_t>> ranks{std::nullopt};  // nullopt: the resolved rows of all
  std::string x;
  ChartQuery query;
  bool is_relative = false;
  std::optional<int64_t> lo, hi;  // of steps and times
};

Status read_bound(const Value& body, const char* key, ChartsAsked* out, std::optional<int64_t>* whole,
                  std::optional<double>* real) {
  const Value* value = body.find(key);
  if (value == nullptr || value->is_null()) return {};
  const Status wrong(Code::kInvalid, fmt::format("{} is no number", key));
  if (const std::string* text = value->as_text()) {
    const char* const end = text->data() + text->size();
    int64_t number = 0;
    double floating = 0;
    if (out->query.axis != ChartAxis::kMetric && std::from_chars(text->data(), end, number).ptr == end &&
        std::from_chars(text->data(), end, number).ec == std::errc()) {
      *whole = number;
      return {};
    }
    const auto [at, error] = std::from_chars(text->data(), end, floating);
    if (error != std::errc() || at != end || !std::isfinite(floating)) return wrong;
    return read_bound(Value::Map{{key, floating}}, key, out, whole, real);
  }
  if (value->as_int() != nullptr) {
    *whole = *value->as_int();
    *real = static_cast<double>(*value->as_int());
    return {};
  }
  if (value->as_double() == nullptr || !std::isfinite(*value->as_double())) return wrong;
  *real = *value->as_double();
  constexpr double kEnd = 9.2e18;
  *whole = static_cast<int64_t>(std::clamp(std::floor(**real), -kEnd, kEnd));
  return {};
}

Status read_ranks(const Value& body, ChartsAsked* out) {
  const Value* value = body.find("ranks");
  if (value == nullptr || value->is_null()) return {};
  const Value::List* list = value->as_list();
  const auto is_rank = [](const Value& each) { return each.as_int() != nullptr && *each.as_int() >= 0; };
  if (list == nullptr || list->empty() || list->size() > kPairsMax || !std::all_of(list->begin(), list->end(), is_rank))
    return Status(Code::kInvalid, "ranks is no list of ranks");
  out->ranks.clear();
  for (const Value& each : *list) out->ranks.emplace_back(*each.as_int());
  return {};
}

Result<ChartsAsked> read_charts_asked(std::string_view text) {
  constexpr std::string_view kMetric = "metric:";
  const auto body = json_object(text);
  if (!body.ok()) return body.status();
  ChartsAsked out;
  auto runs = texts_of(*body, "runs");
  auto keys = texts_of(*body, "keys");
  if (!runs.ok()) return runs.status();
  if (!keys.ok()) return keys.status();
  out.runs = std::move(*runs);
  out.keys = std::move(*keys);
  TRACKER_RETURN_IF_ERROR(read_ranks(*body, &out));
  if (out.runs.size() > kPairsMax || out.keys.size() > kPairsMax ||
      out.runs.size() * out.keys.size() * out.ranks.size() > kPairsMax)
    return Status(Code::kInvalid, fmt::format("at most {} pairs of run and key, and of rank", kPairsMax));
  out.x = body->text_or("x", "step");
  if (out.x == "time" || out.x == "relative") out.query.axis = ChartAxis::kTime;
  else if (out.x.starts_with(kMetric)) out.query.axis = ChartAxis::kMetric;
  else if (out.x != "step") return Status(Code::kInvalid, "x is step, time, relative or metric:<key>");
  if (out.query.axis == ChartAxis::kMetric) out.query.x_metric = out.x.substr(kMetric.size());
  out.is_relative = out.x == "relative";
  const int64_t pixels = body->int_or("pixels", 1000);
  if (pixels < 1 || pixels > kChartPixelsMax)
    return Status(Code::kInvalid, fmt::format("pixels is from 1 to {}", kChartPixelsMax));
  out.query.pixels = static_cast<uint32_t>(pixels);
  TRACKER_RETURN_IF_ERROR(read_bound(*body, "lo", &out, &out.lo, &out.query.lo));
  TRACKER_RETURN_IF_ERROR(read_bound(*body, "hi", &out, &out.hi, &out.query.hi));
  return out;
}

// What a series belongs to.
struct Drawn {
  std::string run, key;
  std::optional<int64_t> rank = {};
};

Value series_head(const Drawn& of, const char* form, uint64_t n, uint64_t rows, uint64_t left_out, const std::string& x,
                  const std::string& base) {
  Value head = Value::Map{{"run", of.run},
                          {"key", of.key},
                          {"form", form},
                          {"n", count_value(n)},
                          {"rows", count_value(rows)},
                          {"left_out", count_value(left_out)},
                          {"x", x},
                          {"x_base", base}};
  if (of.rank) head.set("rank", *of.rank);
  return head;
}

uint32_t to_u32(uint64_t n) { return static_cast<uint32_t>(std::min<uint64_t>(n, UINT32_MAX)); }

template <typename X>
void add_chart(const Drawn& of, const ChartsAsked& asked, const ChartResult& result, const Chart<X>& chart, X base,
               SeriesAnswer* out) {
  const auto& cells = chart.cells;
  const auto shift = [base](X x) {
    if constexpr (std::is_same_v<X, int64_t>)
      return static_cast<double>(static_cast<int64_t>(static_cast<uint64_t>(x) - static_cast<uint64_t>(base)));
    else return x - base;
  };
  std::string base_text = asked.is_relative ? "0" : fmt::format("{}", base);
  out->begin(series_head(of, chart.points ? "points" : "cells", cells.size(), result.rows, result.left_out, asked.x,
                         base_text));
  const auto real = [&](const char* name, const auto& value_of) {
    std::vector<double> values;
    values.reserve(cells.size());
    for (const ChartCell<X>& cell : cells) values.push_back(value_of(cell));
    out->column(name, "f64", values);
  };
  const auto whole = [&](const char* name, const auto& value_of) {
    std::vector<uint32_t> values;
    values.reserve(cells.size());
    for (const ChartCell<X>& cell : cells) values.push_back(to_u32(value_of(cell)));
    out->column(name, "u32", values);
  };
  if (chart.points) {
    real("x", [&](const auto& cell) { return shift(cell.x0); });
    real("y", [](const auto& cell) { return cell.first; });
    return;
  }
  real("x0", [&](const auto& cell) { return shift(cell.x0); });
  real("x1", [&](const auto& cell) { return shift(cell.x1); });
  real("first", [](const auto& cell) { return cell.first; });
  real("last", [](const auto& cell) { return cell.last; });
  real("min", [](const auto& cell) { return cell.min; });
  real("max", [](const auto& cell) { return cell.max; });
  real("sum", [](const auto& cell) { return cell.sum; });
  whole("count", [](const auto& cell) { return cell.count; });
  whole("nan", [](const auto& cell) { return cell.nan; });
  whole("pos_inf", [](const auto& cell) { return cell.pos_inf; });
  whole("neg_inf", [](const auto& cell) { return cell.neg_inf; });
}

void add_nothing(const Drawn& of, const ChartsAsked& asked, SeriesAnswer* out) {
  out->begin(series_head(of, "points", 0, 0, 0, asked.x, "0"));
  out->column("x", "f64", std::vector<double>());
  out->column("y", "f64", std::vector<double>());
}

Status add_charts(const std::string& uid, RunView* view, const ChartsAsked& asked, SeriesAnswer* out) {
  ChartQuery query = asked.query;
  const int64_t start_us = view->created_us();
  const auto shifted = [&](std::optional<int64_t> bound) -> std::optional<int64_t> {
    if (!bound || !asked.is_relative) return bound;
    int64_t sum = 0;
    return __builtin_add_overflow(*bound, start_us, &sum) ? std::nullopt : std::optional(sum);
  };
  query.lo_int = shifted(asked.lo);
  query.hi_int = shifted(asked.hi);
  for (const std::string& key : asked.keys)
    for (const std::optional<int64_t>& rank : asked.ranks) {
      const Drawn of{uid, key, rank};
      query.metric = key;
      query.ranks = rank ? std::optional(std::vector{*rank}) : std::nullopt;
      const auto result = query_chart(view, query);
      if (result.status().code() == Code::kNotFound) {  // it may appear later
        add_nothing(of, asked, out);
        continue;
      }
      if (!result.ok()) return result.status();
      if (const auto* chart = std::get_if<Chart<int64_t>>(&result->chart)) {
        const int64_t first = chart->cells.empty() ? 0 : chart->cells.front().x0;
        add_chart(of, asked, *result, *chart, asked.is_relative ? start_us : first, out);
      } else {
        add_chart(of, asked, *result, std::get<Chart<double>>(result->chart), 0.0, out);
      }
    }
  return {};
}

}  // namespace

Response Service::Impl::charts(const Call& call) {
  const auto asked = read_charts_asked(call.request->body);
  if (!asked.ok()) return error_response(asked.status());
  SeriesAnswer out;
  for (const std::string& uid : asked->runs) {
    Call one = call;
    const auto id = Id128::from_hex(uid);
    if (!id) return error_response(400, "invalid", "runs are named by their uid, 32 hex digits");
    one.uid = *id;
    one.run = runs.find(*id);
    const bool is_hidden = one.run && call.grant.project && one.run->identity.project != *call.grant.project;
    if (!one.run || is_hidden) {  // as one that has not come yet
      for (const std::string& key : asked->keys)
        for (const std::optional<int64_t>& rank : asked->ranks) add_nothing({uid, key, rank}, *asked, &out);
      continue;
    }
    const auto view = open_run(one);
    if (!view.ok()) return error_response(view.status());
    if (const Status added = add_charts(uid, view->get(), *asked, &out); !added.ok()) return error_response(added);
  }
  return series_response(&out);
}

namespace {

// Rows [from, to).
void add_rows(const std::string& uid, const std::string& key, const History& rows, size_t from, size_t to,
              SeriesAnswer* out) {
  const size_t n = to - from;
  out->begin(series_head({uid, key}, "rows", n, n, 0, "step", "0"));
  std::vector<uint8_t> has_step(n);
  std::vector<uint32_t> attempts(n), ranks(n);
  for (size_t i = 0; i < n; ++i) {
    has_step[i] = rows.row_has_step(from + i) ? 1 : 0;
    attempts[i] = static_cast<uint32_t>(rows.row_source(from + i).attempt);
    ranks[i] = static_cast<uint32_t>(rows.row_source(from + i).rank);
  }
  std::vector<double> values(n);
  to_doubles(rows.type, rows.bits.data() + from, n, values.data());
  const auto part = [from, to](const std::vector<int64_t>& all) {
    return std::vector<int64_t>(all.begin() + static_cast<ptrdiff_t>(from), all.begin() + static_cast<ptrdiff_t>(to));
  };
  out->column("step", "i64", part(rows.steps));
  out->column("has_step", "u8", has_step);
  out->column("time_us", "i64", part(rows.times_us));
  out->column("y", "f64", values);
  const auto first = rows.bits.begin() + static_cast<ptrdiff_t>(from);
  const auto last = rows.bits.begin() + static_cast<ptrdiff_t>(to);
  if (rows.type == ValueType::kInt64) out->column("y_int", "i64", std::vector<int64_t>(first, last));
  if (rows.type == ValueType::kBool) out->column("y_bool", "u8", std::vector<uint8_t>(first, last));
  out->column("attempt", "u32", attempts);
  out->column("rank", "u32", ranks);
}

// The rows by step, the last one of each. The cursor is the number of returned rows.
Response resolved_rows(const Call& call, RunView* view, const std::string& key, uint64_t limit) {
  const auto begin = call.number("cursor", 0, INT64_MAX);
  if (!begin.ok()) return error_response(400, "invalid", "no cursor of this path");
  SeriesAnswer out;
  auto rows = view->history(key);
  if (!rows.ok() && rows.status().code() != Code::kNotFound) return error_response(rows.status());
  const History all = rows.ok() ? std::move(*rows) : History{};
  const size_t from = std::min<size_t>(*begin, all.size()), to = std::min<size_t>(all.size(), from + limit);
  add_rows(call.uid.hex(), key, all, from, to, &out);
  Response response = series_response(&out);
  if (to < all.size()) response.headers.emplace_back("X-Tracker-Cursor", fmt::format("{}", to));
  return response;
}

}  // namespace

Response Service::Impl::rows(const Call& call) {
  const std::string key = call.text("key");
  if (key.empty()) return error_response(400, "invalid", "key= is missing");
  const auto limit = call.number("limit", kRowsLimit, kRowsLimitMax);
  if (!limit.ok()) return error_response(limit.status());
  const std::string shown = call.text("view");
  if (!shown.empty() && shown != "resolved" && shown != "all")
    return error_response(400, "invalid", "view is all or resolved");
  const auto view = open_run(call);
  if (!view.ok()) return error_response(view.status());
  if (shown == "resolved") return resolved_rows(call, view->get(), key, std::max<uint64_t>(1, *limit));
  TailQuery query;
  query.metrics = {key};
  query.rows_max = std::max<uint64_t>(1, *limit);
  TailCursor cursor = tail_begin(**view, query);
  if (const std::string token = call.text("cursor"); !token.empty()) {
    const auto parsed = TailCursor::parse(token);
    if (!parsed.ok()) return error_response(400, "invalid", "no cursor of this path");
    cursor = *parsed;
  }
  const auto batch = read_tail(view->get(), query, &cursor);
  if (!batch.ok()) return error_response(batch.status());
  SeriesAnswer out;
  const History rows = batch->metrics.empty() ? History{} : batch->metrics.front().rows;
  add_rows(call.uid.hex(), key, rows, 0, rows.size(), &out);
  Response response = series_response(&out);
  if (batch->more) response.headers.emplace_back("X-Tracker-Cursor", cursor.token());
  return response;
}

}  // namespace tracker::internal
