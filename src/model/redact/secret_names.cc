// SPDX-License-Identifier: MIT
#include "model/redact/secret_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace tracker::internal {
namespace {

bool is_word_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// "openaiApiKey" -> {openai, api, key}
std::vector<std::string> words_of(std::string_view key) {
  std::vector<std::string> words;
  bool in_word = false;
  char previous = 0;
  for (const char c : key) {
    const bool camel =
        std::islower(static_cast<unsigned char>(previous)) && std::isupper(static_cast<unsigned char>(c));
    if (!is_word_character(c)) in_word = false;
    else if (!in_word || camel) words.emplace_back();
    if (is_word_character(c)) {
      in_word = true;
      words.back() += lower(c);
    }
    previous = c;
  }
  return words;
}

template <size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// What a word may end with to be a credential's by itself: "pgpassword" as well.
constexpr std::array<std::string_view, 14> kEnds{
    "password",  "passwd",      "passphrase", "apikey",     "privatekey",  "accesskey",     "secretkey",
    "authtoken", "accesstoken", "apitoken",   "credential", "credentials", "authorization", "clientsecret"};
// The words before "key" with which it is no key of a table or a dict.
constexpr std::array<std::string_view, 36> kBeforeKey{
    "api",    "private", "access",     "secret", "openai",  "anthropic", "wandb",   "hf",      "huggingface",
    "aws",    "azure",   "gcp",        "google", "comet",   "neptune",   "cohere",  "mistral", "groq",
    "stripe", "ssh",     "ssl",        "tls",    "account", "auth",      "app",     "client",  "service",
    "deploy", "signing", "encryption", "master", "admin",   "shared",    "license", "session", "webhook"};

bool ends_as_secret(std::string_view word) {
  return std::any_of(kEnds.begin(), kEnds.end(), [word](std::string_view end) { return word.ends_with(end); });
}

// Whether the words are worth a check: most names of a log end otherwise.
bool may_be_secret(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && !is_word_character(name[end - 1])) --end;
  if (end < 3) return false;
  std::array<char, 3> last{lower(name[end - 3]), lower(name[end - 2]), lower(name[end - 1])};
  constexpr std::array<std::string_view, 18> kLast{"key", "ret", "ets", "ord", "swd", "ase", "ken", "ial", "als",
                                                   "ion", "pwd", "pat", "uth", "kie", "ass", "ook", "url", "uri"};
  return is_one_of(std::string_view(last.data(), last.size()), kLast);
}

}  // namespace

bool is_secret_key(std::string_view key) {
  if (!may_be_secret(key)) return false;
  const std::vector<std::string> words = words_of(key);
  if (words.empty()) return false;
  const std::string& last = words.back();
  constexpr std::array<std::string_view, 4> kAlone{"secret", "secrets", "token", "cookie"};
  if (is_one_of(last, kAlone) || ends_as_secret(last)) return true;
  if (words.size() < 2) return false;
  if (last == "pwd") return true;
  if (last == "url" || last == "uri") return words[words.size() - 2] == "webhook";
  return last == "key" && is_one_of(words[words.size() - 2], kBeforeKey);
}

bool is_secret_variable(std::string_view name) {
  if (name == "PWD" || name == "OLDPWD") return false;
  const std::vector<std::string> words = words_of(name);
  constexpr std::array<std::string_view, 6> kAnywhere{"secret", "secrets", "token", "pass", "cookie", "authorization"};
  for (const std::string& word : words) {
    if (is_one_of(word, kAnywhere)) return true;
    for (const std::string_view part : {"password", "passwd", "passphrase", "credential", "apikey", "secretkey"})
      if (word.find(part) != std::string::npos) return true;
  }
  if (words.empty()) return false;
  const std::string& last = words.back();
  // A person with the address of a webhook may post there.
  const bool address = last == "url" || last == "uri";
  if (last == "webhook" || (address && words.size() > 1 && words[words.size() - 2] == "webhook")) return true;
  if (last.ends_with("pass")) return last != "compass" && last != "bypass" && last != "underpass";
  return last == "auth" || last == "pat" || last.ends_with("pwd") || last.ends_with("token") ||
         last.ends_with("secret") || (last.ends_with("key") && last != "monkey");
}

bool is_secret_in_prose(std::string_view name) {
  if (!may_be_secret(name)) return false;
  const std::vector<std::string> words = words_of(name);
  if (words.empty()) return false;
  const bool variable =
      std::none_of(name.begin(), name.end(), [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; });
  if (variable && words.size() > 1 && is_secret_variable(name)) return true;
  if (words.back() != "token" && words.back() != "secret") return words.back() != "secrets" && is_secret_key(name);
  // "next token: the" is a line of a language model; "auth_token=x" is none.
  constexpr std::array<std::string_view, 13> kBefore{"auth",    "access",  "api",    "client", "bearer",
                                                     "refresh", "session", "github", "gitlab", "wandb",
                                                     "service", "secret",  "hf"};
  return words.size() > 1 && is_one_of(words[words.size() - 2], kBefore);
}

bool is_secret_parameter(std::string_view name) {
  std::string small(name);
  std::transform(small.begin(), small.end(), small.begin(), lower);
  constexpr std::array<std::string_view, 7> kNames{"key", "sig", "auth", "pwd", "pass", "jwt", "sas"};
  return is_one_of(small, kNames) || small.ends_with("signature") || is_secret_key(name);
}

}  // namespace tracker::internal
