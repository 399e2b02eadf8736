// SPDX-License-Identifier: MIT
// Goal: no arguments to the C ABI make it crash, raise or lose count: arbitrary keys, values, steps, lengths, config,
// media, alerts, artifacts and options. Method: the input is a list of calls on a run in a store of its own; each 256
// inputs the run ends, must then account for each point that a call took, and hold in its database what it says. The
// options of trk_init are tried with mode="disabled", and now and then for a run that records. Files and folders that
// calls read or write lie in the fuzzer's own folder, or are names that begin with its path.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/bytes.h"
#include "query/view/run_view.h"
#include "scratch.h"
#include "tracker/tracker.h"

using namespace tracker::internal;

namespace {

constexpr int kInputsOfARun = 256;
constexpr int kInitsOfARun = 4;       // that record: each takes milliseconds
constexpr int kArtifactsOfARun = 16;  // likewise, and media

struct Session {
  Scratch scratch;
  trk_run* run = nullptr;
  int inputs = 0, inits = 0, artifacts = 0, media = 0;
  uint64_t taken = 0;  // points that a call answered with TRK_OK
  const std::string tensorboard = scratch.file("board");

  Session() {
    ::setenv("TRACKER_SHM_DIR", scratch.path().c_str(), 1);
    ::unsetenv("TRACKER_PROJECT");
    ::unsetenv("TRACKER_RUN_ID");
    ::unsetenv("RANK");
    ::setenv("TRACKER_DIR", scratch.file("store").c_str(), 1);
  }
  ~Session() { trk_free(run); }
};

[[noreturn]] void fail(std::string_view why) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(why.size()), why.data());
  std::abort();
}

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

void check_series(Session* s, ByteReader* in) {
  const std::string name = text_of(in);
  trk_series_status status = TRK_SERIES_STATUS_INIT;
  const bool all = in->u8() % 8 == 0;
  const trk_code code = trk_get_series_status(s->run, all ? nullptr : name.data(), all ? 0 : name.size(), &status);
  if (code == TRK_OK && status.points_logged != status.points_stored + status.points_dropped + status.points_pending)
    std::abort();
}

void log_media(Session* s, ByteReader* in) {
  const std::string name = text_of(in), given = text_of(in), bytes = text_of(in), metadata = text_of(in);
  const bool known = in->u8() % 2 == 0;
  const std::string kind = known ? "image" : given, extension = known ? "bin" : given;
  const bool has_metadata = in->u8() % 2 == 0;
  if (s->media++ >= kArtifactsOfARun) return;  // each is a file that is fsynced
  (void)trk_log_media(s->run, name.data(), name.size(), step_of(in), kind.c_str(), bytes.data(), bytes.size(),
                      extension.c_str(), has_metadata ? metadata.c_str() : nullptr);
}

void alert(Session* s, ByteReader* in) {
  const std::string title = text_of(in), text = text_of(in), level = text_of(in);
  (void)trk_alert(s->run, title.data(), title.size(), text.data(), text.size(),
                  in->u8() % 2 == 0 ? "warn" : level.c_str());
}

void ask_to_stop(Session* s, ByteReader* in) {
  char reason[32];
  const size_t size = in->u8() % sizeof reason;
  (void)trk_should_stop(s->run);
  (void)trk_stop_reason(s->run, reason, size);
  (void)trk_stop_reason(s->run, nullptr, 0);
  trk_error error = TRK_ERROR_INIT;
  if (trk_attach(s->run, &error) != TRK_OK && error.message[0] == 0) std::abort();
}

void check_error(trk_code code, const trk_error& error) {
  if (code != TRK_OK && error.message[0] == 0) std::abort();
}

// What is below the fuzzer's folder, or nothing.
std::string own_path(const Session& s, const std::string& text) {
  const std::string path = std::filesystem::path(s.scratch.file("files/" + text)).lexically_normal();
  return path.rfind(s.scratch.file("files"), 0) == 0 ? path : s.scratch.file("files");
}

void change_artifact(Session* s, trk_artifact* artifact, ByteReader* in) {
  const std::string text = text_of(in), path = text_of(in);
  const std::string file = in->u8() % 2 == 0 ? s->scratch.file("files/one") : own_path(*s, text.c_str());
  const std::string folder = in->u8() % 2 == 0 ? s->scratch.file("files") : file;
  trk_error error = TRK_ERROR_INIT;
  std::string keep;
  trk_code code = TRK_OK;
  switch (in->u8() % 6) {
    case 0: code = trk_artifact_add_file(artifact, file.c_str(), path.c_str(), &error); break;
    case 1: code = trk_artifact_add_dir(artifact, folder.c_str(), path.c_str(), &error); break;
    case 2: code = trk_artifact_add_reference(artifact, text.c_str(), path.c_str(), nullptr, &error); break;
    case 3: code = trk_artifact_remove(artifact, path.c_str(), &error); break;
    case 4: (void)trk_artifact_describe(artifact, text.c_str()); return;
    default: {
      const trk_value value = value_of(in, &keep);
      (void)trk_artifact_set_metadata(artifact, text.data(), text.size(), &value);
      return;
    }
  }
  check_error(code, error);
}

void use_artifact(Session* s, ByteReader* in) {
  const std::string name = text_of(in), as = text_of(in);
  trk_error error = TRK_ERROR_INIT;
  trk_artifact* used = trk_use_artifact(s->run, in->u8() % 2 == 0 ? "a:latest" : name.c_str(), as.c_str(), &error);
  if (used == nullptr && error.message[0] == 0) std::abort();
  char written[64];
  if (used != nullptr)
    check_error(trk_artifact_download(used, s->scratch.file("out").c_str(), written, sizeof written, &error), error);
  trk_artifact_free(used);
}

void log_artifact(Session* s, ByteReader* in) {
  const std::string name = text_of(in), type = text_of(in), alias = text_of(in);
  if (s->artifacts++ >= kArtifactsOfARun) return;
  std::error_code ignored;
  std::filesystem::create_directories(s->scratch.file("files/below"), ignored);
  for (const char* file : {"files/one", "files/below/two"}) (void)s->scratch.write(file, file);
  trk_error error = TRK_ERROR_INIT;
  trk_artifact* artifact = trk_artifact_new(in->u8() % 2 == 0 ? "a" : name.c_str(), type.c_str(), &error);
  if (artifact == nullptr && error.message[0] == 0) std::abort();
  for (int i = in->u8() % 6; i > 0 && artifact != nullptr; --i) change_artifact(s, artifact, in);
  if (artifact != nullptr) {
    const char* const aliases[] = {alias.c_str(), "best"};
    trk_artifact_options options = TRK_ARTIFACT_OPTIONS_INIT;
    options.aliases = options.tags = aliases;
    options.alias_count = in->u8() % 3;
    options.tag_count = in->u8() % 3;
    options.ttl_s = in->u8() % 4 == 0 ? in->i64() : 0;
    options.is_input = in->u8() % 2;
    check_error(trk_log_artifact(s->run, artifact, in->u8() % 4 == 0 ? nullptr : &options, &error), error);
    check_error(trk_artifact_wait(artifact, in->u8() % 2 == 0 ? 10'000 : 0, &error), error);
    trk_artifact_info info = TRK_ARTIFACT_INFO_INIT;
    if (trk_artifact_get_info(artifact, &info) == TRK_OK && (info.version >= 0) != (info.digest[0] != 0)) std::abort();
  }
  trk_artifact_free(artifact);
  use_artifact(s, in);
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
  const auto one_of = [&](std::initializer_list<const char*> known) -> const char* {
    const size_t i = in->u8() % (known.size() + 1);
    return i == known.size() ? texts[9].c_str() : known.begin()[i];
  };
  if (in->u8() % 4 == 0) {
    options.journal = one_of({"shm", "disk", "memory"});
    options.ranks = one_of({"first", "observe", "all"});
    options.max_disk = one_of({"10GB", "512MiB", "1"});
    options.capture = one_of({"none", "environment"});
    options.duplicate_policy = one_of({"first", "last"});
    options.on_sigterm = one_of({"mark"});
    options.on_exit = one_of({"finish", "leave"});
    options.system_interval = static_cast<double>(in->u8()) - 1;
    options.strict = in->u8() % 2;
    options.tensorboard = in->u8() % 4 == 0 ? s->tensorboard.c_str() : nullptr;
  }
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
  if (in->u8() % 4 == 0) (void)trk_mark_preempting(run);
  trk_free(run);
}

void begin(Session* s) {
  trk_init_options options = TRK_INIT_OPTIONS_INIT;
  options.project = "fuzz";
  options.on_full = "block";
  options.quiet = 1;
  trk_error error = TRK_ERROR_INIT;
  if (trk_init(&options, &s->run, &error) != TRK_OK) std::abort();
  s->inputs = s->inits = s->artifacts = s->media = 0;
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
  if (!view.ok()) fail(view.status().message());
  if (!(*view)->problems().empty()) fail((*view)->problems().front());
  if ((*view)->points() != status.points_stored)
    fail(fmt::format("{} points of {} are there", (*view)->points(), status.points_stored));
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
    switch (in.u8() % 13) {
      case 0: log_by_name(&s, &in); break;
      case 1: log_points(&s, &in); break;
      case 2: log_by_handle(&s, &in); break;
      case 3: set_value(&s, &in); break;
      case 4: define(&s, &in); break;
      case 5: check_status(&s); break;
      case 6: (void)trk_flush(s.run, in.u8() % 2); break;
      case 7: try_init(&s, &in); break;
      case 8: check_series(&s, &in); break;
      case 9: log_media(&s, &in); break;
      case 10: alert(&s, &in); break;
      case 11: log_artifact(&s, &in); break;
      default: ask_to_stop(&s, &in); break;
    }
  }
  if (++s.inputs >= kInputsOfARun) end(&s);
  return 0;
}
