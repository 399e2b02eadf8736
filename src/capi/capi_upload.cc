// SPDX-License-Identifier: MIT
// The C ABI: calls to a server.
#include <string>

#include "capi/capi_run.h"
#include "run/services/upload.h"

using tracker::internal::capi_error;
using tracker::internal::capi_failed;
using tracker::internal::capi_text;

extern "C" {

trk_code trk_login(const char* host, const char* token, trk_error* error) noexcept {
  try {
    return capi_error(error, tracker::internal::login(capi_text(host), capi_text(token), [] { return true; }));
  } catch (const std::exception& failure) {
    return capi_failed(error, failure);
  }
}

trk_code trk_upload(trk_run* run, const char* folder, int32_t make_folder, trk_error* error) noexcept {
  using tracker::internal::Code;
  using tracker::internal::Status;
  try {
    if (run == nullptr) return capi_error(error, Status(Code::kInvalid, "run is NULL"));
    if (tracker::internal::capi_inert(run)) return TRK_CLOSED;
    const tracker::internal::UploadRequest request{"", "", std::string(capi_text(folder)), make_folder != 0};
    return capi_error(error, tracker::internal::run_of_handle(run).upload(request, [] { return true; }));
  } catch (const std::exception& failure) {
    return capi_failed(error, failure);
  }
}

}  // extern "C"
