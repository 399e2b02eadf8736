// SPDX-License-Identifier: MIT
// The C ABI (include/tracker/tracker.h) over Run. Nothing here throws across the boundary; the hot calls are
// try_log_pairs and one look-up.
#include "tracker/tracker.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/name_table.h"
#include "capi/capi_run.h"
#include "model/key.h"
#include "run/name_slot.h"
#include "run/run.h"

using tracker::internal::capi_failed;
using tracker::internal::Code;
using tracker::internal::HotRun;
using tracker::internal::kKeyBytesMax;
using tracker::internal::kNameSlots;
using tracker::internal::name_slot;
using tracker::internal::Run;
using tracker::internal::RunState;
using tracker::internal::same_bytes;
using tracker::internal::Status;
using tracker::internal::Value;
using tracker::internal::ValuePair;
using tracker::internal::ValueType;

namespace {

std::string_view view_of(const char* data, size_t size) {
  if (data == nullptr) return {};
  return {data, size == TRK_NUL_TERMINATED ? std::strlen(data) : size};
}

void set_error(trk_error* error, trk_code code, std::string_view message) {
  if (error == nullptr || error->size < sizeof(trk_error)) return;
  error->code = code;
  const size_t n = std::min(message.size(), sizeof error->message - 1);
  std::memcpy(error->message, message.data(), n);
  error->message[n] = 0;
}

trk_code code_of(Code code) { return static_cast<trk_code>(code); }

}  // namespace

struct trk_metric {
  trk_run* run = nullptr;
  HotRun* hot = nullptr;
  trk_metric* older = nullptr;  // the metric that the run got before it
  uint32_t name_bytes = 0;
  bool off = false;                            // of a run that never records anything: disabled or gated
  bool alone = false;                          // not in a piece of the run's memory
  std::array<std::atomic<uint32_t>, 8> ids{};  // by ValueType; 0 until first logged as that type

  // Its name follows it in the same piece of memory: there may be 100,000 of them.
  static size_t bytes(std::string_view name) {
    return (sizeof(trk_metric) + name.size() + alignof(trk_metric) - 1) / alignof(trk_metric) * alignof(trk_metric);
  }
  static trk_metric* make(trk_run* run, std::string_view name, void* at);
  static void destroy(trk_metric* metric) {
    if (metric->alone) ::operator delete(metric);
  }
  std::string_view name() const { return {reinterpret_cast<const char*>(this + 1), name_bytes}; }

  uint32_t known_id(ValueType type) const { return ids[static_cast<size_t>(type)].load(std::memory_order_relaxed); }
  uint32_t id(ValueType type) {
    const uint32_t known = known_id(type);
    return __builtin_expect(known != 0, 1) ? known : resolve(type);
  }
  uint32_t resolve(ValueType type);
};

struct trk_run {
  std::shared_ptr<Run> run;
  HotRun* hot = nullptr;
  bool off = false;
  std::string name;
  std::atomic<trk_metric*> newest{nullptr};  // all metrics, owned; a list that can be read after a fork at any moment
  // In a forked child the lock may be held for ever, and the map half changed: the child does not use them.
  struct Names {
    std::mutex mutex;  // guards all of it
    tracker::internal::NameTable<trk_metric*> metrics;
    static constexpr size_t kPieceBytes = 16'384;
    std::vector<std::unique_ptr<char[]>> pieces;  // each holds many metrics
    size_t left = 0;                              // in the last piece
    void* take(size_t bytes);
    trk_metric* find(std::string_view wanted) const;
    void add(trk_metric* metric) noexcept { metrics.add(metric->name(), metric); }
    void make_room();
  };
  std::unique_ptr<Names> names = std::make_unique<Names>();
  std::array<std::atomic<trk_metric*>, kNameSlots> by_name{};  // entries are immutable and live as long as the run

  ~trk_run();
  trk_metric* add(trk_metric* metric) noexcept;
  void adopt_names();
};

Run& tracker::internal::run_of_handle(const trk_run* run) { return *run->run; }
std::string_view tracker::internal::capi_text(const char* data, size_t size) { return view_of(data, size); }
trk_code tracker::internal::capi_error(trk_error* error, const Status& status) {
  if (!status.ok()) set_error(error, code_of(status.code()), status.to_string());
  return code_of(status.code());
}

trk_code tracker::internal::capi_failed(trk_error* error, const std::exception& failure) noexcept {
  set_error(error, TRK_LIMIT, failure.what());
  return TRK_LIMIT;
}

trk_run::~trk_run() {
  if (hot->alive == 0) (void)names.release();
  run.reset();  // ends the run
  for (trk_metric* metric = newest.load(); metric != nullptr;)
    trk_metric::destroy(std::exchange(metric, metric->older));
}

trk_metric* trk_run::add(trk_metric* metric) noexcept {
  metric->older = newest.load(std::memory_order_relaxed);
  while (!newest.compare_exchange_weak(metric->older, metric, std::memory_order_release)) {}
  return metric;
}

// After attach(): the handles remain valid, with ids of this process.
void trk_run::adopt_names() {
  auto fresh = std::make_unique<Names>();
  for (trk_metric* metric = newest.load(); metric != nullptr; metric = metric->older) {
    for (std::atomic<uint32_t>& id : metric->ids) id.store(0, std::memory_order_relaxed);
    fresh->make_room();
    if (fresh->find(metric->name()) == nullptr) fresh->add(metric);
  }
  (void)names.release();
  names = std::move(fresh);
}

uint32_t trk_metric::resolve(ValueType type) {
  const uint32_t id = run->run->series_id(name(), type);
  ids[static_cast<size_t>(type)].store(id, std::memory_order_relaxed);
  return id;
}

trk_metric* trk_metric::make(trk_run* run, std::string_view name, void* at) {
  static_assert(std::is_trivially_destructible_v<trk_metric>);
  auto* metric = new (at) trk_metric;
  metric->run = run;
  metric->hot = run->hot;
  metric->off = run->off;
  metric->name_bytes = static_cast<uint32_t>(name.size());
  std::copy(name.begin(), name.end(), reinterpret_cast<char*>(metric + 1));
  return metric;
}

trk_metric* trk_run::Names::find(std::string_view wanted) const {
  return metrics.find(wanted, [wanted](const trk_metric* metric) { return metric->name() == wanted; });
}

void* trk_run::Names::take(size_t bytes) {
  static_assert(sizeof(trk_metric) + kKeyBytesMax + alignof(trk_metric) <= kPieceBytes);
  if (left < bytes) {
    pieces.push_back(std::make_unique_for_overwrite<char[]>(kPieceBytes));
    left = kPieceBytes;
  }
  char* const at = pieces.back().get() + (kPieceBytes - left);
  left -= bytes;
  return at;
}

void trk_run::Names::make_room() {
  metrics.make_room([](const trk_metric* metric) { return metric->name(); });
}

namespace {

// Finds or makes, under the lock, a metric that is not in its slot.
[[gnu::noinline]] trk_metric* look_up(trk_run* run, std::string_view name) noexcept {
  try {
    if (run->hot->alive == 0 || !tracker::internal::check_key(name).ok()) {
      (void)run->run->series_id(name, ValueType::kFloat64);  // reports and counts the error; nothing is remembered
      return nullptr;
    }
    const std::lock_guard<std::mutex> guard(run->names->mutex);
    trk_metric* metric = run->names->find(name);
    if (metric == nullptr) {
      run->names->make_room();
      metric = run->add(trk_metric::make(run, name, run->names->take(trk_metric::bytes(name))));
      run->names->add(metric);
    }
    run->by_name[name_slot(name)].store(metric, std::memory_order_release);
    return metric;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// A metric by its name: from its slot, else looked up. nullptr for a bad name (counted), in a forked child, where the
// lock may be held for ever, and without memory.
inline trk_metric* metric_of(trk_run* run, std::string_view name) noexcept {
  trk_metric* known = run->by_name[name_slot(name)].load(std::memory_order_acquire);
  if (known != nullptr && known->name_bytes == name.size() &&
      same_bytes(known->name().data(), name.data(), name.size()))
    return known;
  return look_up(run, name);
}

// For a forked child: every call refuses it until trk_attach, and no name finds it, so that no lock is needed.
trk_metric* inert_metric(trk_run* run, std::string_view name) noexcept {
  try {
    trk_metric* const metric = trk_metric::make(run, name, ::operator new(trk_metric::bytes(name)));
    metric->alone = true;
    return run->add(metric);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

// Why metric_of found nothing for a point. A bad name is counted by then; a lack of memory is counted here.
trk_code no_metric(const trk_run* run, std::string_view name) noexcept {
  if (!run->run->recording()) return TRK_CLOSED;
  try {
    if (!tracker::internal::check_key(name).ok()) return TRK_INVALID;
  } catch (const std::bad_alloc&) {}
  run->run->count_no_memory(false);
  return TRK_LIMIT;
}

// Without a step; apart from the calls with a step, which it must not make slower.
__attribute__((noinline)) trk_code log_at_next_step(HotRun* hot, const ValuePair& pair) noexcept {
  const tracker::internal::ClaimedStep next = tracker::internal::claim_step(hot);
  const Code code = tracker::internal::log_pairs(hot, &pair, 1, next.step);
  if (code != Code::kOk) tracker::internal::return_unused_step(hot, next);
  return code_of(code);
}

// A forked child has nothing to wait for and nothing to define.
bool is_inert(const trk_run* run) noexcept {
  if (run->hot->alive != 0) return false;
  tracker::internal::say_forked_once();
  return true;
}

// Inlined into each caller, where type and count are constants.
__attribute__((always_inline)) inline trk_code log_one(trk_metric* metric, ValueType type, uint64_t bits,
                                                       int64_t step) noexcept {
  uint32_t id = metric->known_id(type);
  if (__builtin_expect(id == 0, 0)) {
    if (metric->off) return TRK_CLOSED;
    id = metric->resolve(type);
    if (id == 0) return metric->run->run->recording() ? TRK_LIMIT : TRK_CLOSED;
  }
  const ValuePair pair{bits, id, 0};
  if (__builtin_expect(step == TRK_STEP_AUTO, 0)) return log_at_next_step(metric->hot, pair);
  return code_of(tracker::internal::log_pairs(metric->hot, &pair, 1, step));
}

bool number_of(const trk_value& value, ValueType* type, uint64_t* bits) {
  switch (value.type) {
    case TRK_F64: *type = ValueType::kFloat64, *bits = tracker::internal::bits_of(value.as.f64); return true;
    case TRK_F32: *type = ValueType::kFloat32, *bits = tracker::internal::bits_of(value.as.f32); return true;
    case TRK_F16: *type = ValueType::kFloat16, *bits = value.as.u64 & 0xffff; return true;
    case TRK_BF16: *type = ValueType::kBFloat16, *bits = value.as.u64 & 0xffff; return true;
    case TRK_I64: *type = ValueType::kInt64, *bits = value.as.u64; return true;
    case TRK_BOOL: *type = ValueType::kBool, *bits = value.as.u64 != 0; return true;
    default: return false;
  }
}

bool value_of(const trk_value* value, Value* out) {
  if (value == nullptr) return false;
  ValueType type;
  uint64_t bits = 0;
  if (value->type == TRK_TEXT) {
    *out = std::string(view_of(value->as.text.data, value->as.text.size));
    return true;
  }
  if (!number_of(*value, &type, &bits)) return false;
  if (type == ValueType::kInt64) *out = value->as.i64;
  else if (type == ValueType::kBool) *out = bits != 0;
  else *out = tracker::internal::to_double(type, bits);
  return true;
}

}  // namespace

bool tracker::internal::capi_inert(const trk_run* run) { return is_inert(run); }
bool tracker::internal::capi_value(const trk_value* value, Value* out) { return value_of(value, out); }

extern "C" {

void trk_init_options_default(trk_init_options* options, size_t size) noexcept {
  if (options == nullptr || size < offsetof(trk_init_options, project)) return;
  trk_init_options all = TRK_INIT_OPTIONS_INIT;
  all.size = size;
  std::memset(options, 0, size);
  std::memcpy(options, &all, std::min(size, sizeof all));
}

trk_code trk_init(const trk_init_options* options, trk_run** out, trk_error* error) noexcept {
  try {
    if (out == nullptr) {
      set_error(error, TRK_INVALID, "run is NULL: expected a place for the run");
      return TRK_INVALID;
    }
    *out = nullptr;
    trk_init_options given = TRK_INIT_OPTIONS_INIT;
    if (options != nullptr) {
      // A caller built against an older header has fewer fields; the missing ones keep their defaults.
      if (options->size < offsetof(trk_init_options, project) + sizeof(void*) || options->size > 65536) {
        set_error(error, TRK_INVALID,
                  "options.size is not set: begin with TRK_INIT_OPTIONS_INIT, or where no macro can be used with "
                  "trk_init_options_default()");
        return TRK_INVALID;
      }
      std::memcpy(&given, options, std::min(options->size, sizeof given));
    }
    if (options != nullptr && options->project != nullptr && *options->project == 0) {
      set_error(error, TRK_INVALID, "project is empty: expected a name");
      return TRK_INVALID;
    }
    auto run = Run::init(tracker::internal::capi_options(given));
    if (!run.ok()) {
      set_error(error, code_of(run.status().code()), run.status().to_string());
      return code_of(run.status().code());
    }
    auto handle = std::make_unique<trk_run>();
    handle->run = *run;
    handle->hot = handle->run->hot();
    handle->off = !handle->run->recording();
    handle->name = handle->run->name();
    *out = handle.release();
    return TRK_OK;
  } catch (const std::exception& failure) {
    return capi_failed(error, failure);
  }
}

trk_code trk_attach(trk_run* run, trk_error* error) noexcept {
  try {
    const Status status = run == nullptr ? Status(Code::kInvalid, "run is NULL") : run->run->attach();
    if (status.ok()) run->adopt_names();
    else set_error(error, code_of(status.code()), status.to_string());
    return code_of(status.code());
  } catch (const std::exception& failure) {
    return capi_failed(error, failure);
  }
}

namespace {

// Measures the look-ups of such a call by repeating them, for the account of the tracker's cost.
[[gnu::noinline]] uint64_t look_up_ticks(trk_run* run, const trk_point* points, size_t count) noexcept {
  const uint64_t begin = tracker::internal::ticks();
  for (size_t i = 0; i < count; ++i) {
    ValueType type;
    ValuePair pair{};
    const std::string_view name = view_of(points[i].name, points[i].name_size);
    if (points[i].value.type == TRK_TEXT || !number_of(points[i].value, &type, &pair.bits)) continue;
    trk_metric* metric = metric_of(run, name);
    if (metric != nullptr) pair.series = metric->known_id(type);
    asm volatile("" : : "r,m"(pair) : "memory");
  }
  return tracker::internal::ticks() - begin;
}

}  // namespace

trk_code trk_log(trk_run* run, const trk_point* points, size_t count, int64_t step) noexcept {
  if (run == nullptr || (points == nullptr && count > 0)) return TRK_INVALID;
  if (step == TRK_STEP_AUTO) {
    const tracker::internal::ClaimedStep next = tracker::internal::claim_step(run->hot);
    const trk_code code = trk_log(run, points, count, next.step);
    tracker::internal::return_unused_step(run->hot, next);
    return code;
  }
  constexpr size_t kOnStack = 64;
  ValuePair small[kOnStack];
  trk_code worst = TRK_OK;
  try {
    std::vector<ValuePair> large;
    if (count > kOnStack) large.resize(count);
    ValuePair* pairs = count > kOnStack ? large.data() : small;
    size_t used = 0;
    for (size_t i = 0; i < count; ++i) {
      const std::string_view name = view_of(points[i].name, points[i].name_size);
      const trk_value& value = points[i].value;
      ValueType type;
      ValuePair& pair = pairs[used];
      pair.zero = 0;
      if (value.type == TRK_TEXT) {
        const Code code = run->run->log_text(name, view_of(value.as.text.data, value.as.text.size), step);
        if (code != Code::kOk) worst = code_of(code);
        continue;
      }
      if (!number_of(value, &type, &pair.bits)) {
        run->run->count_rejected(name, "the type of its value is none of trk_type");
        worst = TRK_INVALID;
        continue;
      }
      trk_metric* metric = metric_of(run, name);
      pair.series = metric == nullptr ? 0 : metric->id(type);
      if (metric == nullptr) worst = no_metric(run, name);
      else if (pair.series == 0) worst = run->run->recording() ? TRK_LIMIT : TRK_CLOSED;
      else ++used;
    }
    if (used == 0) return worst;
    if (tracker::internal::try_log_pairs(run->hot, pairs, used, step)) return worst;
    // Not for a call with a bad name: looking it up again would count it again.
    const uint64_t before = worst == TRK_OK ? look_up_ticks(run, points, count) : 0;
    const Code code = tracker::internal::log_pairs_slow(run->hot, pairs, used, step, true, before);
    return code == Code::kOk ? worst : code_of(code);
  } catch (const std::exception&) {
    return TRK_LIMIT;
  }
}

trk_code trk_log_f64(trk_run* run, const char* name, size_t name_size, double value, int64_t step) noexcept {
  if (run == nullptr) return TRK_INVALID;
  trk_metric* metric = metric_of(run, view_of(name, name_size));
  if (metric == nullptr) return no_metric(run, view_of(name, name_size));
  return log_one(metric, ValueType::kFloat64, tracker::internal::bits_of(value), step);
}

trk_code trk_log_i64(trk_run* run, const char* name, size_t name_size, int64_t value, int64_t step) noexcept {
  if (run == nullptr) return TRK_INVALID;
  trk_metric* metric = metric_of(run, view_of(name, name_size));
  if (metric == nullptr) return no_metric(run, view_of(name, name_size));
  return log_one(metric, ValueType::kInt64, tracker::internal::bits_of(value), step);
}

trk_code trk_log_text(trk_run* run, const char* name, const char* text, size_t text_size, int64_t step) noexcept {
  if (run == nullptr) return TRK_INVALID;
  if (step == TRK_STEP_AUTO) {
    const tracker::internal::ClaimedStep next = tracker::internal::claim_step(run->hot);
    const trk_code code = trk_log_text(run, name, text, text_size, next.step);
    tracker::internal::return_unused_step(run->hot, next);
    return code;
  }
  try {
    return code_of(run->run->log_text(view_of(name, TRK_NUL_TERMINATED), view_of(text, text_size), step));
  } catch (const std::bad_alloc&) {
    run->run->count_no_memory(true);
    return TRK_LIMIT;
  }
}

trk_metric* trk_metric_open(trk_run* run, const char* name, size_t name_size, trk_error* error) noexcept {
  trk_metric* metric = nullptr;
  try {
    const std::string_view key = view_of(name, name_size);
    const Status status = run == nullptr ? Status(Code::kInvalid, "run is NULL") : tracker::internal::check_key(key);
    if (!status.ok()) {
      set_error(error, code_of(status.code()), status.to_string());
      return nullptr;
    }
    metric = run->hot->alive != 0 ? metric_of(run, key) : inert_metric(run, key);
  } catch (const std::bad_alloc&) {}
  if (metric == nullptr) set_error(error, TRK_LIMIT, "out of memory");
  return metric;
}

trk_code trk_metric_log_f64(trk_metric* metric, double value, int64_t step) noexcept {
  if (__builtin_expect(metric == nullptr, 0)) return TRK_INVALID;
  return log_one(metric, ValueType::kFloat64, tracker::internal::bits_of(value), step);
}
trk_code trk_metric_log_f32(trk_metric* metric, float value, int64_t step) noexcept {
  if (__builtin_expect(metric == nullptr, 0)) return TRK_INVALID;
  return log_one(metric, ValueType::kFloat32, tracker::internal::bits_of(value), step);
}
trk_code trk_metric_log_i64(trk_metric* metric, int64_t value, int64_t step) noexcept {
  if (__builtin_expect(metric == nullptr, 0)) return TRK_INVALID;
  return log_one(metric, ValueType::kInt64, tracker::internal::bits_of(value), step);
}
trk_code trk_metric_log_bool(trk_metric* metric, int32_t value, int64_t step) noexcept {
  if (__builtin_expect(metric == nullptr, 0)) return TRK_INVALID;
  return log_one(metric, ValueType::kBool, value != 0, step);
}

trk_code trk_flush(trk_run* run, int64_t timeout_ms) noexcept {
  if (run == nullptr) return TRK_INVALID;
  if (is_inert(run)) return TRK_CLOSED;
  constexpr int64_t kDayMs = 86'400'000;
  const std::chrono::milliseconds timeout(std::clamp<int64_t>(timeout_ms, 0, kDayMs));
  return code_of(run->run->flush_code(timeout));
}

trk_code trk_finish(trk_run* run, int32_t exit_code, const char* reason) noexcept {
  if (run == nullptr) return TRK_INVALID;
  try {
    const RunState state = exit_code == 0 ? RunState::kFinished : RunState::kFailed;
    return code_of(run->run->finish(state, exit_code, view_of(reason, TRK_NUL_TERMINATED)).code());
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

void trk_free(trk_run* run) noexcept { delete run; }

const char* trk_run_name(const trk_run* run) noexcept { return run == nullptr ? "" : run->name.c_str(); }

}  // extern "C"
