// SPDX-License-Identifier: MIT
// The page of one run besides charts: metrics, console, environment, media.
#include <fmt/format.h>

#include <algorithm>

#include "base/fs.h"
#include "model/media.h"
#include "query/view/console.h"
#include "query/view/environment.h"
#include "query/view/media.h"
#include "query/view/merge.h"
#include "server/service_impl.h"

namespace tracker::internal {
namespace {

constexpr uint64_t kLinesLimit = 1000;
// Limit: lines of output of one answer. Beyond it: 400.
constexpr uint64_t kLinesLimitMax = 10'000;

Value wire_metric(const MetricInfo& metric) {
  Value out = Value::Map{{"key", metric.name},
                         {"type", value_type_name(metric.types.size() == 1 ? metric.types[0] : ValueType::kFloat64)},
                         {"points", count_value(metric.points)},
                         {"dropped", count_value(metric.dropped)}};
  const bool shows = metric.shown.points > 0, has_range = metric.shown.finite > 0;
  out.set("step_min", metric.has_steps ? Value(metric.step_min) : Value());
  out.set("step_max", metric.has_steps ? Value(metric.step_max) : Value());
  out.set("last", shows ? value_of_bits(metric.last_type, metric.last_bits) : Value());
  out.set("min", has_range ? Value(metric.shown.min) : Value());
  out.set("max", has_range ? Value(metric.shown.max) : Value());
  out.set("time_first_us", metric.points > 0 ? Value(metric.time_first_us) : Value());
  out.set("time_last_us", metric.points > 0 ? Value(metric.time_last_us) : Value());
  out.set("nan", count_value(metric.nan));
  out.set("pos_inf", count_value(metric.pos_inf));
  out.set("neg_inf", count_value(metric.neg_inf));
  if (const Value definition = metric.definition.to_value(); !definition.as_map()->empty())
    out.set("definition", definition);
  return out;
}

Value wire_line(const ConsoleLine& line) {
  return Value::Map{{"stream", line.stream == 2 ? "stderr" : "stdout"},
                    {"rank", line.source.rank},
                    {"attempt", line.source.attempt},
                    {"line", count_value(line.number)},
                    {"time_us", line.time_us},
                    {"text", line.text},
                    {"updates", count_value(line.updates)},
                    {"open", line.open},
                    {"joined", line.joined},
                    {"cut_bytes", count_value(line.cut_bytes)},
                    {"no_room", line.no_room}};
}

// By the extension; types that a browser would run are plain bytes.
const char* content_type_of(std::string_view extension) {
  static constexpr std::pair<std::string_view, const char*> kTypes[] = {
      {"png", "image/png"},        {"jpg", "image/jpeg"},    {"jpeg", "image/jpeg"}, {"gif", "image/gif"},
      {"webp", "image/webp"},      {"svg", "image/svg+xml"}, {"wav", "audio/wav"},   {"mp3", "audio/mpeg"},
      {"ogg", "audio/ogg"},        {"flac", "audio/flac"},   {"mp4", "video/mp4"},   {"webm", "video/webm"},
      {"json", "application/json"}};
  for (const auto& [name, type] : kTypes)
    if (name == extension) return type;
  return "application/octet-stream";
}

}  // namespace

// The bytes of a user's file: saved by a browser, never run, and never changing.
Response attachment(const std::string& path, std::string_view extension, std::string_view name) {
  Response out;
  out.content_type = content_type_of(extension);
  out.file = path;
  out.headers.emplace_back("Content-Security-Policy", "default-src 'none'; sandbox");
  std::string disposition = "attachment";
  if (!name.empty()) {
    disposition += "; filename*=UTF-8''";
    for (const char c : name) {
      const auto byte = static_cast<unsigned char>(c);
      const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                            (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '_';
      disposition += is_plain ? std::string(1, c) : fmt::format("%{:02X}", byte);
    }
  }
  out.headers.emplace_back("Content-Disposition", disposition);
  out.headers.emplace_back("Cache-Control", "private, max-age=31536000, immutable");
  return out;
}

Response Service::Impl::series(const Call& call) {
  const auto page = page_of(call);
  if (!page.ok()) return error_response(page.status());
  const auto view = open_run(call);
  if (!view.ok()) return error_response(view.status());
  const std::string prefix = call.text("prefix");
  Value::List out;
  uint64_t total = 0;
  for (const MetricInfo& metric : (*view)->metrics()) {
    if (!metric.name.starts_with(prefix)) continue;
    if (total >= page->offset && out.size() < page->limit) out.push_back(wire_metric(metric));
    ++total;
  }
  return json_response(Value::Map{{"total", count_value(total)}, {"series", std::move(out)}});
}

Response Service::Impl::console(const Call& call) {
  const auto limit = call.number("limit", kLinesLimit, kLinesLimitMax);
  const auto after = call.number("after", UINT64_MAX, INT64_MAX);  // absent: the last lines
  const auto rank = call.number("rank", 0, INT64_MAX);
  if (!limit.ok()) return error_response(limit.status());
  if (!after.ok()) return error_response(after.status());
  if (!rank.ok()) return error_response(rank.status());
  const std::string stream = call.text("stream");
  if (!stream.empty() && stream != "stdout" && stream != "stderr")
    return error_response(400, "invalid", "stream is stdout or stderr");
  const auto view = open_run(call);
  if (!view.ok()) return error_response(view.status());
  ConsoleQuery query;
  query.stream = stream.empty() ? 0 : stream == "stderr" ? 2 : 1;
  if (call.query.contains("rank")) query.rank = static_cast<int64_t>(*rank);
  const auto output = read_console(view->get(), query);
  if (!output.ok()) return error_response(output.status());
  // Lines before those of a reading are not sent.
  const uint64_t cut = output->total - std::min<uint64_t>(output->total, output->lines.size());
  uint64_t begin = output->total - std::min(output->total, *limit);
  if (*after != UINT64_MAX) begin = std::min(*after, output->total);
  begin = std::max(begin, cut);
  const uint64_t end = std::min(output->total, begin + *limit);
  Value::List lines;
  for (uint64_t i = begin; i < end; ++i) lines.push_back(wire_line(output->lines[i - cut]));
  return json_response(
      Value::Map{{"lines", std::move(lines)}, {"next", count_value(end)}, {"total", count_value(output->total)}});
}

Response Service::Impl::environment(const Call& call) {
  const auto view = open_run(call);
  if (!view.ok()) return error_response(view.status());
  return json_response(environment_of((*view)->writers()));
}

Response Service::Impl::list_media(const Call& call) {
  const auto page = page_of(call);
  if (!page.ok()) return error_response(page.status());
  const auto view = open_run(call);
  if (!view.ok()) return error_response(view.status());
  const auto media = read_media(view->get(), call.text("key"), false);
  if (!media.ok()) return error_response(media.status());
  Value::List out;
  for (size_t i = page->offset; i < media->size() && out.size() < page->limit; ++i) {
    const MediaRow& row = (*media)[i];
    Value one = Value::Map{{"key", row.name},
                           {"step", row.has_step ? Value(row.step) : Value()},
                           {"time_us", row.time_us},
                           {"rank", row.rank},
                           {"attempt", row.attempt}};
    if (row.value.as_map() != nullptr)
      for (const auto& [name, value] : *row.value.as_map()) one.set(name, value);
    out.push_back(std::move(one));
  }
  return json_response(Value::Map{{"total", count_value(media->size())}, {"media", std::move(out)}});
}

Response Service::Impl::medium(const Call& call) {
  const std::string name = media_file_name(call.digest.hex(), call.extension);
  const std::string path = name.empty() ? "" : join_path(call.run->path, name);
  if (path.empty() || !is_regular_file(path) || is_link(path))
    return error_response(404, "not_found", "there is no such file of this run");
  return attachment(path, call.extension, call.digest.hex().substr(0, 12) + "." + call.extension);
}

}  // namespace tracker::internal
