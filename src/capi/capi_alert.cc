// SPDX-License-Identifier: MIT
// The C ABI: alerts, requests to stop, and the mark of a run that is preempted.
#include <algorithm>
#include <cstring>
#include <new>
#include <string>

#include "capi/capi_run.h"

using tracker::internal::capi_text;
using tracker::internal::run_of_handle;

extern "C" {

trk_code trk_alert(trk_run* run, const char* title, size_t title_size, const char* text, size_t text_size,
                   const char* level) noexcept {
  if (run == nullptr || capi_text(title, title_size).empty()) return TRK_INVALID;
  try {
    const auto status =
        run_of_handle(run).alert(capi_text(title, title_size), capi_text(text, text_size), capi_text(level));
    return static_cast<trk_code>(status.code());
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

int32_t trk_should_stop(trk_run* run) noexcept {
  try {
    return run != nullptr && run_of_handle(run).should_stop() ? 1 : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

trk_code trk_mark_preempting(trk_run* run) noexcept {
  if (run == nullptr) return TRK_INVALID;
  try {
    return static_cast<trk_code>(run_of_handle(run).mark_preempting());
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

size_t trk_stop_reason(trk_run* run, char* out, size_t size) noexcept {
  if (out != nullptr && size > 0) *out = 0;
  try {
    const auto reason = run == nullptr ? std::nullopt : run_of_handle(run).stop_reason();
    if (!reason) return 0;
    if (out != nullptr && size > 0) {
      const size_t n = std::min(reason->size(), size - 1);
      std::memcpy(out, reason->data(), n);
      out[n] = 0;
    }
    return reason->size();
  } catch (const std::exception&) {
    return 0;
  }
}

}  // extern "C"
