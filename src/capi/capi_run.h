// SPDX-License-Identifier: MIT
// The Run that a handle of the C ABI points to. Threads: any. Cost: nothing.
#pragma once

#include <cstddef>
#include <exception>
#include <string_view>

#include "run/run.h"
#include "tracker/tracker.h"

namespace tracker::internal {

// Shared by the files of the ABI; in capi.cc.
std::string_view capi_text(const char* data, size_t size = TRK_NUL_TERMINATED);  // NULL: empty
trk_code capi_error(trk_error* error, const Status& status);                     // the status's code
bool capi_value(const trk_value* value, Value* out);                             // false: no trk_type
trk_code capi_failed(trk_error* error, const std::exception& failure) noexcept;  // TRK_LIMIT; takes no memory
bool capi_inert(const trk_run* run);  // of a forked child, which is reported once

InitOptions capi_options(const trk_init_options& in);  // in capi_options.cc

Run& run_of_handle(const trk_run* run);  // of a handle that is not NULL

}  // namespace tracker::internal
