// SPDX-License-Identifier: MIT
// The C ABI: data of a run other than rows, config, summary and definitions of metrics.
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/capi_run.h"

using tracker::internal::capi_error;
using tracker::internal::capi_text;
using tracker::internal::capi_value;
using tracker::internal::Code;
using tracker::internal::run_of_handle;
using tracker::internal::Status;
using tracker::internal::Value;

extern "C" {

trk_code trk_config_set(trk_run* run, const char* key, size_t key_size, const trk_value* value) noexcept {
  try {
    Value converted;
    if (run == nullptr || key == nullptr || !capi_value(value, &converted)) return TRK_INVALID;
    const std::string_view name = capi_text(key, key_size);
    if (name.empty()) return TRK_INVALID;
    return static_cast<trk_code>(run_of_handle(run).set_config(name, std::move(converted)));
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

trk_code trk_summary_set(trk_run* run, const char* key, size_t key_size, const trk_value* value) noexcept {
  try {
    Value converted;
    if (run == nullptr || key == nullptr || !capi_value(value, &converted)) return TRK_INVALID;
    return static_cast<trk_code>(run_of_handle(run).set_summary(capi_text(key, key_size), std::move(converted)));
  } catch (const std::bad_alloc&) {
    return TRK_LIMIT;
  }
}

trk_code trk_define_metric(trk_run* run, const char* name, const char* step_metric, const char* summary,
                           const char* goal, trk_error* error) noexcept {
  try {
    if (run == nullptr || name == nullptr)
      return capi_error(error, Status(Code::kInvalid, run == nullptr ? "run is NULL" : "name is NULL"));
    if (tracker::internal::capi_inert(run))
      return capi_error(error, Status(Code::kClosed, "a forked child records nothing before trk_attach"));
    std::vector<std::string> kinds;
    for (std::string_view rest = capi_text(summary); !rest.empty();) {
      const size_t comma = rest.find(',');
      kinds.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
    }
    return capi_error(error, run_of_handle(run).define_metric(name, capi_text(step_metric), kinds, capi_text(goal)));
  } catch (const std::exception& failure) {
    return tracker::internal::capi_failed(error, failure);
  }
}

}  // extern "C"
