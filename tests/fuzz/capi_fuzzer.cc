// SPDX-License-Identifier: MIT
// Goal: no arguments to the C ABI make it crash, raise or lose count: arbitrary keys, values, steps, lengths, config
// and options. Method: the input is a list of calls on a run in a store of its own; each 256 inputs the run ends, must
// then account for each point that a call took, and hold in its database what it says. The options of trk_init are
// tried with mode="disabled", and now and then for a run that records.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "query/run_view.h"
#include "scratch.h"
#include "tracker/tracker.h"

using namespace tracker::internal;

namespace {

constexpr int kInputsOfARun = 256;
constexpr int kInitsOfARun = 4;  // that record: each takes milliseconds

struct Session {
  Scratch scratch;
  trk_run* run = nullptr;
  int inputs = 0, inits = 0;
  uint64_t taken = 0;  // points that a call answered with TRK_OK

  Session() {
    ::setenv("TRACKER_SHM_DIR", scratch.path().c_str(), 1);
    ::unsetenv("TRACKER_PROJECT");
    ::unsetenv("TRACKER_RUN_ID");
    ::unsetenv("RANK");
    ::setenv("TRACKER_DIR", scratch.file("store").c_str(), 1);
  }
  ~Session() { trk_free(run); }
};

Session& session() {
  static Session out;
  return out;
}

std::string text_of(ByteReader* in) {
  const size_t size = in->u8();
  return std::string(in->bytes(size < in->remaining() ? size : in->remaining()));
}

// `keep` holds what the value points to.
trk_value value_of(ByteReader* in, std::string* keep) {
  trk_value out = trk_f64(0);
  out.type = in->u8() % 10;  // 0, 8 and 9 are none of trk_type
  if (out.type == TRK_TEXT) {
    *keep = text_of(in);
    out.as.text.data = keep->c_str();
    out.as.text.size = in->u8() % 8 == 0 ? TRK_NUL_TERMINATED : keep->size();
    if (in->u8() % 16 == 0) out.as.text.data = nullptr;
  } else {
    out.as.u64 = in->u64();
  }
  return out;
}

int64_t step_of(ByteReader* in) {
  switch (in->u8() % 4) {
    case 0: return TRK_STEP_AUTO;
    case 1: return in->u8();
    default: return in->i64();
  }
}

void log_points(Session* s, ByteReader* in) {
  std::vector<std::string> names(in->u8() % 80), texts(names.size());
  std::vector<trk_point> points(names.size());
  for (size_t i = 0; i < points.size(); ++i) {
    names[i] = text_of(in);
    points[i] = {names[i].c_str(), in->u8() % 8 == 0 ? TRK_NUL_TERMINATED : names[i].size(), value_of(in, &texts[i])};
  }
  (void)trk_log(s->run, points.data(), points.size(), step_of(in));
}

void log_by_handle(Session* s, ByteReader* in) {
  const std::string name = text_of(in);
  trk_error error = TRK_ERROR_INIT;
  trk_metric* metric = trk_metric_open(s->run, name.data(), name.size(), &error);
  if (metric == nullptr && (error.code == 0 || error.message[0] == 0)) std::abort();
  for (size_t n = in->u8() % 16; n > 0; --n) {
    const uint64_t bits = in->u64();
    double number;
    float small;
    std::memcpy(&number, &bits, sizeof number);
    std::memcpy(&small, &bits, sizeof small);
    trk_code code = TRK_OK;
    switch (in->u8() % 4) {
      case 0: code = trk_metric_log_f64(metric, number, step_of(in)); break;
      case 1: code = trk_metric_log_f32(metric, small, step_of(in)); break;
      case 2: code = trk_metric_log_i64(metric, static_cast<int64_t>(bits), step_of(in)); break;
      default: code = trk_metric_log_bool(metric, static_cast<int32_t>(bits), step_of(in)); break;
    }
    if (metric == nullptr && code != TRK_INVALID) std::abort();
    if (code == TRK_OK) ++s->taken;
  }
}

void log_by_name(Session* s, ByteReader* in) {
  const std::string name = text_of(in);
  const std::string text = text_of(in);
  const int64_t step = step_of(in);
  double number;
  const uint64_t bits = in->u64();
  std::memcpy(&number, &bits, sizeof number);
  switch (in->u8() % 3) {
    case 0: s->taken += trk_log_f64(s->run, name.data(), name.size(), number, step) == TRK_OK; break;
    case 1: s->taken += trk_log_i64(s->run, name.c_str(), TRK_NUL_TERMINATED, step, step) == TRK_OK; break;
    default: (void)trk_log_text(s->run, name.c_str(), text.data(), text.size(), step); break;
  }
}

void set_value(Session* s, ByteReader* in) {
  const bool config = in->u8() % 2 == 0;
  const std::string key = text_of(in);
  std::string keep;
  const trk_value value = value_of(in, &keep);
  (void)(config ? trk_config_set : trk_summary_set)(s->run, key.data(), key.size(), &value);
}

void define(Session* s, ByteReader* in) {
  const std::string name = text_of(in), axis = text_of(in), summary = text_of(in), goal = text_of(in);
  trk_error error = TRK_ERROR_INIT;
  const trk_code code = trk_define_metric(s->run, name.c_str(), axis.c_str(), summary.c_str(), goal.c_str(), &error);
  if (code != TRK_OK && error.message[0] == 0) std::abort();
}

void check_status(Session* s) {
  trk_status status = TRK_STATUS_INIT;
  if (trk_get_status(s->run, &status) != TRK_OK) std::abort();
  if (status.points_logged < s->taken) std::abort();
  if (*trk_run_id(s->run) == 0 || *trk_run_project(s->run) == 0 || std::strlen(trk_run_uid(s->run)) != 32) std::abort();
}

// The store is never of the input: a run's folder must lie in ours, whatever project and id are called.
void try_init(Session* s, ByteReader* in) {
  std::string texts[10];
  for (std::string& text : texts) text = text_of(in);
  const bool records = in->u8() % 4 == 0 && s->inits < kInitsOfARun;
  const char* tags[] = {texts[7].c_str(), texts[8].c_str()};
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  const auto given = [&](size_t i) { return in->u8() % 2 == 0 ? texts[i].c_str() : nullptr; };
  options.project = given(0);
  options.id = given(1);
  options.name = given(2);
  options.group = given(3);
  options.notes = given(4);
  options.resume_from = given(5);
  options.resume = in->u8() % 4 == 0 ? texts[6].c_str() : in->u8() % 2 == 0 ? "allow" : nullptr;
  options.tags = tags;
  options.tag_count = in->u8() % 3;
  options.on_full = in->u8() % 8 == 0 ? texts[9].c_str() : "drop";
  options.rank = in->u8() % 8 == 0 ? static_cast<int32_t>(in->u32()) : -1;
  options.world_size = in->u8() % 8 == 0 ? static_cast<int32_t>(in->u32()) : 0;
  options.mode = records ? "local" : "disabled";
  options.quiet = 1;
  s->inits += records;
  trk_run* run = nullptr;
  trk_error error = TRK_ERROR_INIT;
  const trk_code code = trk_init(&options, &run, &error);
  if ((code == TRK_OK) != (run != nullptr) || (code != TRK_OK && error.message[0] == 0)) std::abort();
  if (run == nullptr) return;
  const std::filesystem::path dir = std::filesystem::path(trk_run_dir(run)).lexically_normal();
  if (records && dir.string().rfind(s->scratch.path() + "/", 0) != 0) std::abort();
  (void)trk_log_f64(run, "loss", TRK_NUL_TERMINATED, 1, TRK_STEP_AUTO);
  trk_free(run);
}

void begin(Session* s) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "fuzz";
  options.on_full = "block";
  options.quiet = 1;
  trk_error error = TRK_ERROR_INIT;
  if (trk_init(&options, &s->run, &error) != TRK_OK) std::abort();
  s->inputs = s->inits = 0;
  s->taken = 0;
}

// Everything that was taken is stored or counted, and the database says the same.
void end(Session* s) {
  if (trk_flush(s->run, 60'000) != TRK_OK) std::abort();
  check_status(s);
  const std::string dir = trk_run_dir(s->run);
  trk_code ended = trk_finish(s->run, 0, nullptr);
  trk_status status = TRK_STATUS_INIT;
  (void)trk_get_status(s->run, &status);
  // Two seconds are its bound, also where a loaded machine gives our threads no processor: nothing is lost by that.
  for (int i = 0; i < 600 && ended == TRK_TIMEOUT && status.points_pending != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    (void)trk_get_status(s->run, &status);
  }
  if (ended != TRK_OK && ended != TRK_TIMEOUT) std::abort();
  if (status.points_pending != 0 || status.points_logged != status.points_stored + status.points_dropped) std::abort();
  if (status.points_stored < s->taken) std::abort();
  auto view = RunView::open({{}, dir, ""});
  if (!view.ok() || (*view)->points() != status.points_stored || !(*view)->problems().empty()) std::abort();
  (void)(*view)->summary();
  (void)(*view)->config();
  for (const MetricInfo& metric : (*view)->metrics())
    if (!(*view)->history(metric.name, true).ok()) std::abort();
  trk_free(s->run);
  s->run = nullptr;
  std::error_code ignored;
  std::filesystem::remove_all(s->scratch.file("store"), ignored);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Session& s = session();
  if (s.run == nullptr) begin(&s);
  ByteReader in({reinterpret_cast<const char*>(data), size});
  while (in.remaining() > 0) {
    switch (in.u8() % 8) {
      case 0: log_by_name(&s, &in); break;
      case 1: log_points(&s, &in); break;
      case 2: log_by_handle(&s, &in); break;
      case 3: set_value(&s, &in); break;
      case 4: define(&s, &in); break;
      case 5: check_status(&s); break;
      case 6: (void)trk_flush(s.run, in.u8() % 2); break;
      default: try_init(&s, &in); break;
    }
  }
  if (++s.inputs >= kInputsOfARun) end(&s);
  return 0;
}
