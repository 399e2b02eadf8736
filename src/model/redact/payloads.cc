// SPDX-License-Identifier: MIT
#include "model/redact/payloads.h"

#include <string>
#include <utility>

#include "model/redact/redact.h"

namespace tracker::internal {

Value alert_payload(AlertLevel level, std::string_view title, std::string_view text, uint64_t* redacted) {
  uint64_t cut = 0;
  Value out = Value::Map{{"level", alert_level_name(level)}};
  const size_t looked_at = alert_part(title, kAlertTextBytesMax, &cut).size();
  out.set("title", alert_part(redact_text(title, redacted, looked_at), kAlertTitleBytesMax, &cut));
  if (!text.empty()) out.set("text", alert_part(redact_text(text, redacted), kAlertTextBytesMax, &cut));
  if (cut > 0) out.set("cut", static_cast<int64_t>(cut));
  return out;
}

void redact_medium(std::string_view key, Value* value, uint64_t* count) {
  const Value* text = value->find("text");
  const Value* extension = value->find("ext");
  const bool has_text = text != nullptr && text->as_text() != nullptr;
  const bool is_markup = extension != nullptr && *extension == "html";
  if (!has_text || extension == nullptr || !(*extension == "json" || (is_markup && !is_secret_key(key)))) {
    if (has_text && is_secret_key(key) && *text->as_text() != kRedacted) {
      value->set("text", std::string(kRedacted));
      ++*count;
    }
    redact("", value, count);
    return;
  }
  std::string document = redact_document(*text->as_text(), *extension->as_text(), count);
  value->set("text", Value());
  redact("", value, count);
  value->set("text", std::move(document));
}

}  // namespace tracker::internal
