// SPDX-License-Identifier: MIT
// Who may do what: <store>/server.db has the SHA-256 of tokens, sessions and one-use codes, never these themselves.
// Threads: any. Cost: a lookup in SQLite; what makes a token, session or code waits for the disk.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/sqlite/sqlite.h"
#include "storage/store/store.h"

namespace tracker::internal {

constexpr const char* kServerFile = "server.db";
constexpr std::string_view kTokenPrefix = "trk_";
// Limit: seconds of a session. Beyond it: log in again.
constexpr int64_t kSessionSeconds = 30 * 24 * 3600;
// Limit: seconds of a one-use code. Beyond it: log in again.
constexpr int64_t kCodeSeconds = 600;
// Limit: wrong logins of one address in a minute. Beyond it: 429.
constexpr int kWrongLoginsAMinute = 10;
// Limit: addresses that are remembered for wrong logins. Beyond it: all are forgotten.
constexpr size_t kLoginAddressesMax = 10'000;

// Bits of Grant.scopes. On disk: do not change the numbers.
enum Scope : uint32_t { kNoScope = 0, kScopeRead = 1, kScopeIngest = 2, kScopeEdit = 4, kScopeAdmin = 8 };
// kInvalid: there is no scope of that name.
Result<uint32_t> scope_of(std::string_view name);
std::vector<std::string> scope_names(uint32_t scopes);

struct Grant {
  uint32_t scopes = kNoScope;
  std::optional<std::string> project;  // none: of all
  bool by_cookie = false;
};

struct TokenInfo {
  std::string name;
  uint32_t scopes = kNoScope;
  std::optional<std::string> project;  // none: all
  int64_t created_us = 0;
};

class Access {
 public:
  // Makes server.db, readable by its owner alone. kCorrupt, kVersion: another file stands there.
  static Result<Access> open(const Store& store);
  Access(Access&& other) noexcept;

  // 256 random bits as text; kInvalid: a bad name or project.
  Result<std::string> create_token(std::string_view name, uint32_t scopes, const std::optional<std::string>& project);
  // By name. What a token is cannot be told: the store keeps its hash.
  Result<std::vector<TokenInfo>> tokens();
  // Forgets the tokens of this name, and with them the sessions that they began. How many there were.
  Result<uint64_t> revoke(std::string_view name);
  // For kCodeSeconds, once: a session of `scopes` on all projects.
  Result<std::string> create_code(uint32_t scopes);
  bool has_tokens();

  // By the header Authorization or the cookie; none: neither is known.
  std::optional<Grant> grant(std::string_view authorization, std::string_view cookie);
  struct Session {
    std::string secret;
    Grant grant;
  };
  // kNotFound: the token or code is not known; kBusy: this address was wrong too often.
  Result<Session> login(std::string_view token, std::string_view code, const std::string& client);
  Status logout(std::string_view cookie);
  const std::string& cookie_name() const { return cookie_name_; }

  // Where `tracker ui` of this store listens, for `tracker ui --link`.
  Status set_address(std::string_view url);
  Result<std::string> address();

 private:
  Access() = default;
  std::optional<Grant> find_token(std::string_view token);
  std::optional<Grant> find_session(std::string_view secret);
  std::string session_in(std::string_view cookie) const;
  bool is_throttled(const std::string& client);
  void count_wrong(const std::string& client);

  std::mutex mutex_;
  Sqlite db_;
  std::string cookie_name_;
  struct Wrong {
    int64_t minute = 0;
    int count = 0;
  };
  std::map<std::string, Wrong> wrong_;  // by address
};

}  // namespace tracker::internal
