// SPDX-License-Identifier: MIT
// A plain model of a run for randomised tests: what its processes log, call by call, and what must then be read of it.
// The calls of a thread follow from a seed, so that a test knows those of a process that was killed; how many of them
// had returned, and with what, the process writes into shared memory. Threads: one at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "model/number.h"
#include "model/value.h"
#include "support/random_frame.h"
#include "tracker/tracker.h"

namespace tracker::internal {

constexpr size_t kModelCallsMax = 16'384;  // of a thread
constexpr size_t kModelThreadsMax = 3;     // of a process
constexpr size_t kModelAttached = 3;  // "thread" of a forked child that attaches: its metrics have names of their own
constexpr size_t kModelProcessesMax = 4;  // at a time

// A logging thread's own record.
struct ModelLedger {
  std::atomic<uint32_t> returned;
  std::atomic<uint8_t> codes[kModelCallsMax];  // trk_code of each call that has returned
};

struct ModelRow {
  int64_t step = 0;
  ValueType type = ValueType::kFloat64;
  uint64_t bits = 0;
  bool operator==(const ModelRow&) const = default;
};

struct ModelText {
  int64_t step = 0;
  std::string text;
  bool operator==(const ModelText&) const = default;
};

struct ModelSetting {
  std::string key;
  Value value;
};

enum class ModelCallKind { kLog, kHandle, kName, kText, kConfig, kSummary, kFlush, kBadKey };

struct ModelPoint {
  std::string metric;
  ValueType type = ValueType::kFloat64;
  uint64_t bits = 0;
};

struct ModelCall {
  ModelCallKind kind = ModelCallKind::kFlush;
  bool auto_step = false;
  int64_t step = 0;
  std::vector<ModelPoint> points;
  std::string key, text;
  Value value;
};

// What a thread may do.
struct ModelHabits {
  bool settings = false;    // config and summary, which only one thread sets at a time
  bool auto_steps = false;  // only where one thread logs: the next step depends on all
  uint32_t flush_every = 0;
  uint32_t points_max = 6;  // of a call
  bool rising = false;      // long series of one type whose steps rise, as levels are made of
};

// The calls of a thread, one after the other.
class ModelCalls {
 public:
  ModelCalls(uint64_t seed, size_t thread, const ModelHabits& habits)
      : random_(seed), habits_(habits), prefix_("t" + std::to_string(thread) + "/") {}

  ModelCall next() {
    ModelCall out;
    uint64_t dice = random_() % 100;
    if (habits_.flush_every != 0 && random_() % habits_.flush_every == 0) return out;
    if (habits_.rising) {
      rise(&out);
      if (dice < 96) return out;
      out.points.clear();
      dice = 80 + (dice - 96) * 5;
    } else {
      set_step(&out);
    }
    if (dice < 45) log(&out);
    else if (dice < 65) one(ModelCallKind::kHandle, &out);
    else if (dice < 80) one(ModelCallKind::kName, &out);
    else if (dice < 90) text(&out);
    else if (dice < 93) out.kind = ModelCallKind::kBadKey;
    else if (habits_.settings) setting(&out);
    else one(ModelCallKind::kName, &out);
    return out;
  }

 private:
  void set_step(ModelCall* out) {
    const uint64_t dice = random_() % 40;
    out->auto_step = habits_.auto_steps && dice < 15;
    if (dice < 28) ++step_;
    else if (dice == 29) step_ -= static_cast<int64_t>(random_() % 60);
    out->step = step_;
    if (dice == 30) out->step = static_cast<int64_t>(random_() | 1);  // any but the one that means "the next"
    if (dice == 31) out->step = -static_cast<int64_t>(random_() % 5);
  }
  void log(ModelCall* out) {
    out->kind = ModelCallKind::kLog;
    for (size_t n = 1 + random_() % habits_.points_max; n > 0; --n)
      out->points.push_back(random_() % 10 == 0 ? point(static_cast<ValueType>(1 + random_() % 6)) : usual_point());
  }
  // Mostly the same few metrics, so that their rows are in one block, and sometimes all of them. They are never logged
  // with another type: charts of those decode every row.
  void rise(ModelCall* out) {
    if (step_ == 0 && random_() % 2 == 0) step_ = static_cast<int64_t>(random_() % 30'000);
    step_ += 1 + static_cast<int64_t>(random_() % 64 == 0 ? random_() % 2000 : 0);
    out->kind = ModelCallKind::kLog;
    out->step = step_;
    const uint64_t metrics = random_() % 32 == 0 ? 6 : 2;
    for (uint64_t number = 0; number < metrics; ++number) out->points.push_back(point_of_own_type("r", number));
  }
  void one(ModelCallKind kind, ModelCall* out) {
    constexpr ValueType kByHandle[] = {ValueType::kFloat64, ValueType::kFloat32, ValueType::kInt64, ValueType::kBool};
    out->kind = kind;
    if (kind == ModelCallKind::kHandle) out->points = {point(kByHandle[random_() % 4])};
    else out->points = {point(random_() % 2 == 0 ? ValueType::kFloat64 : ValueType::kInt64)};
  }
  void text(ModelCall* out) {
    out->kind = ModelCallKind::kText;
    out->key = prefix_ + "note" + std::to_string(random_() % 2);
    out->text.assign(random_() % 40, static_cast<char>('a' + random_() % 26));
  }
  void setting(ModelCall* out) {
    constexpr const char* kKeys[] = {"a", "b", "n", "n/x", "n/y", "n/y/z"};
    out->kind = random_() % 2 == 0 ? ModelCallKind::kConfig : ModelCallKind::kSummary;
    out->key = kKeys[random_() % (out->kind == ModelCallKind::kConfig ? 6 : 3)];
    if (random_() % 3 == 0) out->value = "text " + std::to_string(random_() % 100);
    else out->value = static_cast<int64_t>(random_() % 1000);
  }
  ModelPoint point(ValueType type) { return {prefix_ + "m" + std::to_string(random_() % 6), type, bits(type)}; }
  // A metric has mostly one type.
  ModelPoint usual_point() { return point_of_own_type("m", random_() % 6); }
  ModelPoint point_of_own_type(const char* name, uint64_t number) {
    const auto type = static_cast<ValueType>(1 + number);
    return {prefix_ + name + std::to_string(number), type, bits(type)};
  }
  uint64_t bits(ValueType type) {
    if (type == ValueType::kBool) return random_() % 2;
    const uint64_t mask = width_mask(type);
    const uint64_t top = (mask >> 1) + 1;
    const uint64_t inf = type == ValueType::kFloat64   ? 0x7ff0000000000000
                         : type == ValueType::kFloat32 ? 0x7f800000
                         : type == ValueType::kFloat16 ? 0x7c00
                                                       : 0x7f80;
    const uint64_t special[] = {0, top, 1, top | 1, inf, inf | top, inf + 1 + random_() % 64, (inf + 1) | top};
    if (random_() % 4 == 0) return special[random_() % 8] & mask;
    if (type == ValueType::kFloat64) return bits_of(static_cast<double>(random_() % 10'000) * 0.01);
    return random_() & mask;
  }

  std::mt19937_64 random_;
  const ModelHabits habits_;
  const std::string prefix_;
  int64_t step_ = 0;
};

// What the calls of one thread leave.
struct ModelOutcome {
  std::map<std::string, std::vector<ModelRow>> rows;
  std::map<std::string, std::vector<ModelText>> texts;
  std::map<std::string, uint64_t> dropped;  // points by metric; texts, config and summary under ""
  uint64_t rejected = 0;
  std::vector<ModelSetting> config, summary;
  uint64_t points() const {
    uint64_t out = 0;
    for (const auto& [metric, found] : rows) out += found.size();
    return out;
  }
  uint64_t events() const {
    uint64_t out = config.size() + summary.size();
    for (const auto& [key, found] : texts) out += found.size();
    return out;
  }
};

struct ModelThread {
  uint64_t seed = 0;
  size_t number = 0;
  ModelHabits habits;
  uint32_t calls = 0;               // to be made
  std::vector<uint8_t> codes = {};  // of those that returned
  int64_t step_base = INT64_MIN;    // the largest step of earlier attempts
};

// Adds what one call leaves that answered `code`.
inline void add_outcome(const ModelCall& call, uint8_t code, int64_t* largest, ModelOutcome* out) {
  const auto is = [&call](ModelCallKind kind) { return call.kind == kind; };
  if (is(ModelCallKind::kBadKey)) ++out->rejected;
  const bool setting = is(ModelCallKind::kConfig) || is(ModelCallKind::kSummary);
  if (setting && code == TRK_LIMIT) ++out->dropped[""];
  else if (is(ModelCallKind::kConfig)) out->config.push_back({call.key, call.value});
  else if (is(ModelCallKind::kSummary)) out->summary.push_back({call.key, call.value});
  if (!is(ModelCallKind::kText) && call.points.empty()) return;
  int64_t step = call.step;
  if (call.auto_step) step = *largest == INT64_MIN ? 0 : *largest == INT64_MAX ? *largest : *largest + 1;
  if (code == TRK_LIMIT) {
    for (const ModelPoint& point : call.points) ++out->dropped[point.metric];
    if (call.points.empty()) ++out->dropped[""];
    return;
  }
  *largest = std::max(*largest, step);
  for (const ModelPoint& point : call.points) out->rows[point.metric].push_back({step, point.type, point.bits});
  if (is(ModelCallKind::kText)) out->texts[call.key].push_back({step, call.text});
}

// Of the calls that returned, and with `in_flight` of the next one too.
inline ModelOutcome outcome_of(const ModelThread& thread, bool in_flight) {
  ModelCalls calls(thread.seed, thread.number, thread.habits);
  ModelOutcome out;
  int64_t largest = thread.step_base;
  for (const uint8_t code : thread.codes) add_outcome(calls.next(), code, &largest, &out);
  if (in_flight) add_outcome(calls.next(), TRK_OK, &largest, &out);
  return out;
}

// One finished writer of the run: what it has left is known and does not change.
struct ModelWriter {
  Id128 writer;
  int64_t attempt = 1, rank = 0;
  std::optional<int64_t> resume_step;
  std::vector<ModelOutcome> threads;
};

// --- what a process does ------------------------------------------------------------------------------------------

inline trk_value c_value_of(ValueType type, uint64_t bits) {
  trk_value out = trk_f64(0);
  out.type = static_cast<uint32_t>(type);
  out.as.u64 = bits;
  return out;
}

inline trk_code log_handle(trk_run* run, const ModelPoint& point, int64_t step) {
  trk_metric* metric = trk_metric_open(run, point.metric.data(), point.metric.size(), nullptr);
  const trk_value value = c_value_of(point.type, point.bits);
  switch (point.type) {
    case ValueType::kFloat64: return trk_metric_log_f64(metric, value.as.f64, step);
    case ValueType::kFloat32: return trk_metric_log_f32(metric, value.as.f32, step);
    case ValueType::kInt64: return trk_metric_log_i64(metric, value.as.i64, step);
    default: return trk_metric_log_bool(metric, static_cast<int32_t>(point.bits), step);
  }
}

inline trk_code log_points(trk_run* run, const ModelCall& call, int64_t step) {
  std::vector<trk_point> points;
  for (const ModelPoint& point : call.points)
    points.push_back({point.metric.data(), point.metric.size(), c_value_of(point.type, point.bits)});
  return trk_log(run, points.data(), points.size(), step);
}

inline trk_code set_value(trk_run* run, const ModelCall& call) {
  const std::string* text = call.value.as_text();
  const trk_value value = text != nullptr ? trk_text(text->c_str()) : trk_i64(*call.value.as_int());
  return (call.kind == ModelCallKind::kConfig ? trk_config_set : trk_summary_set)(run, call.key.data(), call.key.size(),
                                                                                  &value);
}

inline trk_code perform(trk_run* run, const ModelCall& call) {
  const int64_t step = call.auto_step ? TRK_STEP_AUTO : call.step;
  switch (call.kind) {
    case ModelCallKind::kLog: return log_points(run, call, step);
    case ModelCallKind::kHandle: return log_handle(run, call.points[0], step);
    case ModelCallKind::kName: {
      const ModelPoint& point = call.points[0];
      const trk_value value = c_value_of(point.type, point.bits);
      if (point.type == ValueType::kInt64)
        return trk_log_i64(run, point.metric.data(), point.metric.size(), value.as.i64, step);
      return trk_log_f64(run, point.metric.data(), point.metric.size(), value.as.f64, step);
    }
    case ModelCallKind::kText: return trk_log_text(run, call.key.c_str(), call.text.data(), call.text.size(), step);
    case ModelCallKind::kConfig:
    case ModelCallKind::kSummary: return set_value(run, call);
    case ModelCallKind::kBadKey: return trk_log_f64(run, "\xff", 1, 1.0, step);
    case ModelCallKind::kFlush: return trk_flush(run, 60'000);
  }
  return TRK_INVALID;
}

// False: a call answered what it must not.
inline bool perform_all(trk_run* run, const ModelThread& thread, ModelLedger* ledger) {
  ModelCalls calls(thread.seed, thread.number, thread.habits);
  for (uint32_t i = 0; i < thread.calls; ++i) {
    const ModelCall call = calls.next();
    const trk_code code = perform(run, call);
    const bool bad = call.kind == ModelCallKind::kBadKey;
    if (bad ? code != TRK_INVALID : code != TRK_OK && code != TRK_LIMIT) return false;
    ledger->codes[i].store(static_cast<uint8_t>(code), std::memory_order_relaxed);
    ledger->returned.store(i + 1, std::memory_order_release);
  }
  return true;
}

}  // namespace tracker::internal
