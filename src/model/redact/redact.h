// SPDX-License-Identifier: MIT
// Secrets are never stored (P12): text values whose key names a credential, or which have the form of a known token,
// become "[redacted]". All that is masked anywhere is masked here. Threads: pure functions. Cost: one pass; see
// benchmarks/micro/bench_redact.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/redact/secret_names.h"
#include "model/value.h"

namespace tracker::internal {

constexpr std::string_view kRedacted = "[redacted]";
// Limit: bytes after a cut that are searched for the end of a secret. Beyond it: of a longer secret the part before the
// cut may stay.
constexpr size_t kSecretAheadBytes = 8 * 1024;

// `text` with every secret in it replaced, each added to `count`:
// known tokens (AKIA…, ghp_…/github_pat_…, hf_…, sk-…, xoxb-…, JWTs and their like) and PEM private keys; who is in an
// address (`https://user:password@host`, `user:password@host`); values of a query (`?token=…&sig=…`); `Bearer …` and
// what follows `Authorization:`; values after names that mean a credential in any text (`--password=x`, `API_KEY:
// "x"`). Colours and other escape sequences within a secret do not hide it, and stay.
// Of a text that is to be cut: what stems from its first `bytes`, redacted before the cut; a secret that begins in them
// goes whole. Of what follows kSecretAheadBytes are read.
std::string redact_text(std::string_view text, uint64_t* count, size_t bytes = std::string_view::npos);
// The same for code and command lines, where every secret name counts: `token = x` too, which in what a program prints
// may be a word of a language model.
std::string redact_code(std::string_view text, uint64_t* count, size_t bytes = std::string_view::npos);
// Of a word of a command line that is an assignment to the name of a secret ("--password=ab,c d", "API_KEY=x"): where
// its value begins, all of which is one. 0: it is none.
size_t secret_argument(std::string_view word);
// The same within <script> and <style> of a page, which go on as they are: known tokens, who is in an address, and what
// a quoted text after a name that means a credential in any text holds.
std::string redact_script(std::string_view text, uint64_t* count);
// The same for each string of a JSON document, which stays one; the rest of it stays byte for byte. The value of a
// member whose name means a credential in any text goes whole, and so do the texts of a table's column of such a name
// (docs/media.md): "token" and "secret" alone are none. What is no JSON is redacted as a text.
std::string redact_json(std::string_view text, uint64_t* count);
// The same for each text, comment and value of an attribute of an SVG or a page, which keeps its tags; the value of an
// attribute whose name means a credential in any text goes whole.
std::string redact_markup(std::string_view text, uint64_t* count);
// By its extension: JSON, markup ("html", "svg"), else a text.
std::string redact_document(std::string_view text, std::string_view extension, uint64_t* count);
// For names of folders and files, which cannot be kept with a hole: kInvalid where redact_text() would find anything.
// The message says `what` it is and not the text.
Status check_no_secret(std::string_view what, std::string_view text);
// Applies both rules to a value under `key`, maps and lists included.
void redact(std::string_view key, Value* value, uint64_t* count);

}  // namespace tracker::internal
