// SPDX-License-Identifier: MIT
// Built twice, with and without exceptions; both objects are linked into one program, as happens in users' programs.
#include "unit/api/plain_user.h"

#include <tracker/tracker.hpp>

namespace {

void log_three(const std::string& dir, UserResult* out) {
  tracker::Run run = tracker::init({.project = "user", .dir = dir, .quiet = true});
  const tracker::Metric loss = run.metric("loss");
  for (int step = 0; step < 3; ++step) out->logged += loss.log(0.5 * step, step) == tracker::Code::kOk ? 1 : 0;
  tracker::Artifact model("model", "model");
  model.add_reference("s3://bucket/model");
  if (run.log_artifact(model, {.aliases = {"best"}}) == tracker::Code::kOk && model.wait() == tracker::Code::kOk)
    out->version = model.version();
  run.finish();
}

}  // namespace

#if TRACKER_EXCEPTIONS
UserResult use_with_exceptions(const std::string& dir) {
  UserResult out;
  try {
    const tracker::Run run = tracker::init({.project = "user", .resume = "sometimes", .dir = dir, .quiet = true});
    out.ok = run.ok();
  } catch (const tracker::Error& error) {
    out.threw = true;
    out.code = static_cast<int>(error.code());
    out.message = error.what();
  }
  log_three(dir, &out);
  return out;
}
#else
UserResult use_without_exceptions(const std::string& dir) {
  UserResult out;
  const tracker::Run run = tracker::init({.project = "user", .resume = "sometimes", .dir = dir, .quiet = true});
  out.ok = run.ok();
  out.code = static_cast<int>(run.code());
  out.message = run.error();
  // A run that is not ok() takes every call.
  run.log({{"loss", 1.0}}, 0);
  run.metric("loss").log(1.0);
  run.set_config("lr", 0.1);
  run.flush();
  run.finish();
  log_three(dir, &out);
  return out;
}
#endif
