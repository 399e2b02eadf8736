// SPDX-License-Identifier: MIT
// Names whose value is a secret. Threads: pure functions. Cost: a check of the end of a name, and of its words only
// where that end is a credential's.
#pragma once

#include <string_view>

namespace tracker::internal {

// True when the last word of `key` (words split at anything but letters and digits, and at camelCase) is a
// credential's: secret, password, passwd, passphrase, token, credential, authorization, apikey, privatekey, or key
// after api, access, private, openai and the like, or url after webhook.
bool is_secret_key(std::string_view key);
// Of an environment variable, which says more by its name: a credential's word at any place (PGPASSWORD,
// AWS_SECRET_ARN, GOOGLE_APPLICATION_CREDENTIALS), or KEY, PWD, PASS, AUTH, PAT, WEBHOOK, WEBHOOK_URL at the end. PWD
// and OLDPWD are folders.
bool is_secret_variable(std::string_view name);
// Of those, a name that means a credential in any text: "token" and "secret" alone are words of language models.
bool is_secret_in_prose(std::string_view name);
// Of a part of a URL's query: "sig" and "key" too.
bool is_secret_parameter(std::string_view name);

}  // namespace tracker::internal
