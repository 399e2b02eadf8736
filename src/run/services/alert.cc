// SPDX-License-Identifier: MIT
// Run::alert(). An alert is an event of the run, within bounds; what finds no room is counted, and recorded in the run.
#include <fmt/format.h>

#include "base/clock.h"
#include "journal/ring/hot_path.h"
#include "model/alert.h"
#include "model/redact/payloads.h"
#include "run/run_impl.h"

namespace tracker::internal {

Status Run::alert(std::string_view title, std::string_view text, std::string_view level) {
  const auto known = alert_level(level);
  if (!known)
    return Status(Code::kInvalid, fmt::format("level \"{}\": expected info, warn or error", level.substr(0, 80)));
  if (impl_->forked()) {
    say_forked_once();
    return Status(Code::kClosed, "a forked child records nothing");
  }
  if (!impl_->writer || impl_->observed()) return {};
  uint64_t found = 0;
  const Value payload = alert_payload(*known, title, text, &found);
  bool room = false, say = false;
  uint64_t dropped = 0;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    impl_->redacted += found;
    room = impl_->alerts.take(monotonic_ns());
    if (!room) say = impl_->alerts.count_dropped();
    dropped = impl_->alerts.dropped();
  }
  if (!room) {
    const std::string bounds =
        fmt::format("more than {} alerts in a minute or {} of this process", kAlertsAMinute, kAlertsMax);
    impl_->warnings.warn_once("alerts", bounds + ": further ones are not recorded, and counted");
    if (say) log_dropped_alerts(dropped);
    return Status(Code::kLimit, bounds);
  }
  const int64_t at = step();
  const Code code = log_event(EventType::kAlert, payload, at == INT64_MIN ? 0 : at, at != INT64_MIN);
  return code == Code::kOk ? Status() : Status(code, fmt::format("the alert is not recorded: {}", code_name(code)));
}

void Run::log_dropped_alerts(uint64_t count) {
  (void)log_event(EventType::kAlert, Value::Map{{"dropped", static_cast<int64_t>(count)}}, 0, false);
}

// The exact count, recorded before or not: where the files were removed meanwhile, what was recorded is gone with them.
void Run::finish_alerts() {
  uint64_t dropped = 0;
  {
    const std::lock_guard<std::mutex> guard(impl_->mutex);
    dropped = impl_->alerts.dropped();
  }
  if (dropped > 0) log_dropped_alerts(dropped);
}

}  // namespace tracker::internal
