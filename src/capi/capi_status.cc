// SPDX-License-Identifier: MIT
// The C ABI: the status of a run.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "capi/capi_run.h"

using tracker::internal::run_of_handle;

extern "C" {

trk_code trk_get_status(trk_run* run, trk_status* out) noexcept {
  if (run == nullptr || out == nullptr || out->size < sizeof(size_t)) return TRK_INVALID;
  try {
    const tracker::internal::RunStatus now = run_of_handle(run).status();
    trk_status status;
    std::memset(&status, 0, sizeof status);
    status.size = std::min(out->size, sizeof status);
    status.points_logged = now.points_logged;
    status.points_stored = now.points_stored;
    status.points_dropped = now.points_dropped;
    status.points_pending = now.points_pending;
    status.values_rejected = now.values_rejected;
    status.bytes_stored = now.bytes_stored;
    status.survives = (now.survives_process ? TRK_SURVIVES_PROCESS : 0u) |
                      (now.survives_container ? TRK_SURVIVES_CONTAINER : 0u) |
                      (now.survives_power ? TRK_SURVIVES_POWER : 0u);
    status.degraded = now.degraded;
    status.recording = now.recording;
    status.rank = run_of_handle(run).rank();
    std::strncpy(status.journal, now.journal.c_str(), sizeof status.journal - 1);
    const std::string& note = now.last_error.empty() ? now.why_not_recording : now.last_error;
    std::strncpy(status.last_error, note.c_str(), sizeof status.last_error - 1);
    std::strncpy(status.store_files, now.store_files.c_str(), sizeof status.store_files - 1);
    status.store_parts = now.store_parts;
    status.disk_full = now.disk_full;
    status.cost_call_ns = now.cost.call_ns;
    status.cost_thread_cpu_ns = now.cost.thread_cpu_ns;
    status.cost_memory_bytes = now.cost.memory_bytes;
    status.cost_memory_bytes_max = now.cost.memory_bytes_max;
    status.cost_bytes_written = now.cost.bytes_written;
    status.artifacts_stored = now.artifacts_stored;
    status.artifacts_pending = now.artifacts_pending;
    status.artifacts_failed = now.artifacts_failed;
    status.texts_logged = now.texts_logged;
    status.texts_stored = now.texts_stored;
    status.texts_dropped = now.texts_dropped;
    status.texts_pending = now.texts_pending;
    status.media_logged = now.media.logged;
    status.media_stored = now.media.stored;
    status.media_dropped = now.media.dropped;
    status.entries_dropped = now.entries_dropped;
    std::memcpy(out, &status, status.size);
    return TRK_OK;
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

trk_code trk_get_series_status(trk_run* run, const char* name, size_t name_size, trk_series_status* out) noexcept {
  if (run == nullptr || out == nullptr || out->size < sizeof(size_t)) return TRK_INVALID;
  try {
    const std::string_view key = tracker::internal::capi_text(name, name_size);
    if (name != nullptr && key.empty()) return TRK_INVALID;
    const auto now = run_of_handle(run).series_status(key);
    if (!now.ok()) return static_cast<trk_code>(now.status().code());
    trk_series_status status;
    std::memset(&status, 0, sizeof status);
    status.size = std::min(out->size, sizeof status);
    status.points_logged = now->points_logged();
    status.points_stored = now->points_stored;
    status.points_dropped = now->points_dropped;
    status.points_pending = now->points_pending;
    std::memcpy(out, &status, status.size);
    return TRK_OK;
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

const char* trk_run_id(const trk_run* run) noexcept { return run == nullptr ? "" : run_of_handle(run).id().c_str(); }
const char* trk_run_uid(const trk_run* run) noexcept { return run == nullptr ? "" : run_of_handle(run).uid().c_str(); }
const char* trk_run_project(const trk_run* run) noexcept {
  return run == nullptr ? "" : run_of_handle(run).project().c_str();
}
const char* trk_run_dir(const trk_run* run) noexcept { return run == nullptr ? "" : run_of_handle(run).dir().c_str(); }
int64_t trk_run_step(const trk_run* run) noexcept { return run == nullptr ? INT64_MIN : run_of_handle(run).step(); }

const char* trk_version(void) noexcept { return TRK_VERSION_STRING; }
const char* trk_code_name(trk_code code) noexcept {
  return tracker::internal::code_name(static_cast<tracker::internal::Code>(code)).data();
}

}  // extern "C"
