// SPDX-License-Identifier: MIT
// The C ABI: media.
#include <new>
#include <string>

#include "capi/capi_run.h"

using tracker::internal::run_of_handle;
using tracker::internal::Value;

extern "C" {

trk_code trk_log_media(trk_run* run, const char* name, size_t name_size, int64_t step, const char* kind,
                       const void* bytes, size_t size, const char* extension, const char* metadata_json) noexcept {
  if (run == nullptr || name == nullptr || kind == nullptr || extension == nullptr || (bytes == nullptr && size > 0))
    return TRK_INVALID;
  try {
    tracker::internal::Run& target = run_of_handle(run);
    const std::string_view key = tracker::internal::capi_text(name, name_size);
    if (!target.takes_media()) return TRK_CLOSED;
    Value description = Value::map();
    if (metadata_json != nullptr) {
      auto given = tracker::internal::from_json(metadata_json);
      if (!given.ok() || !given->is_map()) {
        target.count_rejected(key, "its description is no JSON object");
        return TRK_INVALID;
      }
      description = std::move(*given);
    }
    const std::string_view content(static_cast<const char*>(bytes), size);
    if (step != TRK_STEP_AUTO)
      return static_cast<trk_code>(target.put_media(key, step, kind, content, extension, std::move(description)));
    const tracker::internal::ClaimedStep next = tracker::internal::claim_step(target.hot());
    const tracker::internal::Code code =
        target.put_media(key, next.step, kind, content, extension, std::move(description));
    tracker::internal::return_unused_step(target.hot(), next);
    return static_cast<trk_code>(code);
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

}  // extern "C"
