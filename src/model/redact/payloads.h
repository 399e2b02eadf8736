// SPDX-License-Identifier: MIT
// The payloads of alerts and media without their secrets. Pure functions. Threads: any.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/alert.h"
#include "model/value.h"

namespace tracker::internal {

// The payload of an alert's event, redacted and cut: {level, title, text, cut}. `redacted` counts the secrets.
Value alert_payload(AlertLevel level, std::string_view title, std::string_view text, uint64_t* redacted);
// Redacts the payload of a medium (model/redact/redact.h) and adds to `count`. The text of a small JSON document stays
// JSON; any other text under a `key` that names a secret is replaced whole, as a logged text is.
void redact_medium(std::string_view key, Value* value, uint64_t* count);

}  // namespace tracker::internal
