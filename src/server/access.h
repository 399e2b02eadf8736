// SPDX-License-Identifier: MIT
// Authorisation: <store>/server.db has the SHA-256 of tokens, sessions and one-use codes, never these themselves.
// Threads: any. Cost: a look-up in SQLite; making a token, session or code waits for the disk.
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
  std::optional<std::string> project;  // none: all projects
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
  // Makes server.db, readable only by its owner. kCorrupt, kVersion: the file is another one.
  static Result<Access> open(const Store& store);
  Access(Access&& other) noexcept;

  // 256 random bits as text; kInvalid: a bad name or project.
  Result<std::string> create_token(std::string_view name, uint32_t scopes, const std::optional<std::string>& project);
  // By name. A token itself cannot be returned: the store has its hash.
  Result<std::vector<TokenInfo>> tokens();
  // Removes the tokens of this name and their sessions. Returns the number of tokens.
  Result<uint64_t> revoke(std::string_view name);
  // Valid for kCodeSeconds, once: gives a session of `scopes` on all projects.
  Result<std::string> create_code(uint32_t scopes);
  bool has_tokens();

  // From the header Authorization or the cookie; none: neither is known.
  std::optional<Grant> grant(std::string_view authorization, std::string_view cookie);
  struct Session {
    std::string secret;
    Grant grant;
  };
  // kNotFound: the token or code is unknown; kBusy: too many failed logins from this address.
  Result<Session> login(std::string_view token, std::string_view code, const std::string& client);
  Status logout(std::string_view cookie);
  const std::string& cookie_name() const { return cookie_name_; }

  // The address of this store's `tracker ui`, for `tracker ui --link`.
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
