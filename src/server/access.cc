// SPDX-License-Identifier: MIT
#include "server/access.h"

#include <fmt/format.h>
#include <sys/random.h>

#include "artifact/digest.h"
#include "base/clock.h"
#include "model/key.h"
#include "server/server_tables.h"

namespace tracker::internal {
namespace {

constexpr int64_t kServerApplicationId = 0x54524b53;  // "TRKS"
constexpr int64_t kMinuteUs = 60'000'000;

constexpr const char* kAccessTables =
    "CREATE TABLE token(hash BLOB PRIMARY KEY, name TEXT NOT NULL, scopes INTEGER NOT NULL, project TEXT,"
    " created_us INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE session(hash BLOB PRIMARY KEY, token BLOB, scopes INTEGER NOT NULL, project TEXT,"
    " expires_us INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE code(hash BLOB PRIMARY KEY, scopes INTEGER NOT NULL, expires_us INTEGER NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE TABLE listens(id INTEGER PRIMARY KEY CHECK(id = 1), url TEXT NOT NULL);";

struct ScopeName {
  const char* name;
  Scope scope;
};
constexpr ScopeName kScopes[] = {
    {"read", kScopeRead}, {"ingest", kScopeIngest}, {"edit", kScopeEdit}, {"admin", kScopeAdmin}};

std::string base64url(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<uint8_t>(c);
    for (bits += 8; bits >= 6; bits -= 6) out += kDigits[held >> (bits - 6) & 63];
  }
  if (bits > 0) out += kDigits[held << (6 - bits) & 63];
  return out;
}

// 256 bits as 43 digits.
Result<std::string> random_secret() {
  std::string bytes(32, '\0');
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t got = ::getrandom(bytes.data() + at, bytes.size() - at, 0);
    if (got < 0 && errno != EINTR) return Status::from_errno(errno, "no random bytes");
    if (got > 0) at += static_cast<size_t>(got);
  }
  return base64url(bytes);
}

std::optional<std::string> text_or_none(const Statement& row, int column) {
  if (row.is_null(column)) return std::nullopt;
  return std::string(row.bytes_at(column));
}

void bind_optional(Statement& statement, const std::optional<std::string>& text) {
  if (text) statement.bind(*text);
  else statement.bind_null();
}

}  // namespace

Result<uint32_t> scope_of(std::string_view name) {
  for (const ScopeName& each : kScopes)
    if (name == each.name) return uint32_t{each.scope};
  return Status(Code::kInvalid, fmt::format("unknown scope \"{}\"", name), "scopes: read, ingest, edit, admin");
}

std::vector<std::string> scope_names(uint32_t scopes) {
  std::vector<std::string> out;
  for (const ScopeName& each : kScopes)
    if ((scopes & each.scope) != 0) out.emplace_back(each.name);
  return out;
}

Result<Access> Access::open(const Store& store) {
  Access out;
  auto db = open_server_tables(store.path(), kServerFile, kServerApplicationId, kAccessTables);
  if (!db.ok()) return db.status();
  out.db_ = std::move(*db);
  out.cookie_name_ = "tracker_" + store.id().hex().substr(0, 8);
  return out;
}

Access::Access(Access&& other) noexcept
    : db_(std::move(other.db_)), cookie_name_(std::move(other.cookie_name_)), wrong_(std::move(other.wrong_)) {}

Result<std::string> Access::create_token(std::string_view name, uint32_t scopes,
                                         const std::optional<std::string>& project) {
  TRACKER_RETURN_IF_ERROR(check_label("name", name));
  if (project) TRACKER_RETURN_IF_ERROR(check_label("project", *project));
  if (scopes == kNoScope) return Status(Code::kInvalid, "a token without a scope may do nothing", "--scope ingest");
  auto secret = random_secret();
  if (!secret.ok()) return secret;
  const std::string token = std::string(kTokenPrefix) + *secret;
  const Digest hash = sha256(token);
  const std::lock_guard lock(mutex_);
  auto insert = db_.prepare("INSERT INTO token(hash, name, scopes, created_us, project) VALUES(?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  insert->bind_blob(hash.view()).bind(name).bind(int64_t{scopes}).bind(realtime_us());
  bind_optional(*insert, project);
  TRACKER_RETURN_IF_ERROR(insert->run());
  return token;
}

Result<std::vector<TokenInfo>> Access::tokens() {
  const std::lock_guard lock(mutex_);
  auto all = db_.prepare("SELECT name, scopes, project, created_us FROM token ORDER BY name, created_us");
  if (!all.ok()) return all.status();
  std::vector<TokenInfo> out;
  for (;;) {
    const auto more = all->step();
    if (!more.ok()) return more.status();
    if (!*more) return out;
    out.push_back(
        {std::string(all->bytes_at(0)), static_cast<uint32_t>(all->int_at(1)), text_or_none(*all, 2), all->int_at(3)});
  }
}

Result<uint64_t> Access::revoke(std::string_view name) {
  const std::lock_guard lock(mutex_);
  auto count = db_.prepare("SELECT count(*) FROM token WHERE name = ?");
  auto remove = db_.prepare("DELETE FROM token WHERE name = ?");
  if (!count.ok()) return count.status();
  if (!remove.ok()) return remove.status();
  const auto row = count->bind(name).step();
  if (!row.ok()) return row.status();
  const auto found = static_cast<uint64_t>(count->int_at(0));
  TRACKER_RETURN_IF_ERROR(remove->bind(name).run());
  return found;
}

Result<std::string> Access::create_code(uint32_t scopes) {
  auto code = random_secret();
  if (!code.ok()) return code;
  const Digest hash = sha256(*code);
  const std::lock_guard lock(mutex_);
  auto insert = db_.prepare("INSERT INTO code(hash, scopes, expires_us) VALUES(?, ?, ?)");
  if (!insert.ok()) return insert.status();
  insert->bind_blob(hash.view()).bind(int64_t{scopes}).bind(realtime_us() + kCodeSeconds * 1'000'000);
  TRACKER_RETURN_IF_ERROR(insert->run());
  return code;
}

bool Access::has_tokens() {
  const std::lock_guard lock(mutex_);
  return db_.query_int("SELECT count(*) FROM token").value_or(0) > 0;
}

std::optional<Grant> Access::find_token(std::string_view token) {
  const Digest hash = sha256(token);
  auto find = db_.prepare("SELECT scopes, project FROM token WHERE hash = ?");
  if (!find.ok() || !find->bind_blob(hash.view()).step().value_or(false)) return std::nullopt;
  return Grant{static_cast<uint32_t>(find->int_at(0)), text_or_none(*find, 1), false};
}

std::optional<Grant> Access::find_session(std::string_view secret) {
  const Digest hash = sha256(secret);
  // A session ends with its token.
  auto find = db_.prepare(
      "SELECT scopes, project FROM session WHERE hash = ? AND expires_us > ? AND"
      " (token IS NULL OR token IN (SELECT hash FROM token))");
  if (!find.ok() || !find->bind_blob(hash.view()).bind(realtime_us()).step().value_or(false)) return std::nullopt;
  return Grant{static_cast<uint32_t>(find->int_at(0)), text_or_none(*find, 1), true};
}

std::string Access::session_in(std::string_view cookie) const {
  while (!cookie.empty()) {
    const size_t end = cookie.find(';');
    std::string_view one = cookie.substr(0, end);
    while (one.starts_with(' ')) one.remove_prefix(1);
    if (one.starts_with(cookie_name_ + "=")) return std::string(one.substr(cookie_name_.size() + 1));
    if (end == std::string_view::npos) break;
    cookie.remove_prefix(end + 1);
  }
  return "";
}

std::optional<Grant> Access::grant(std::string_view authorization, std::string_view cookie) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::lock_guard lock(mutex_);
  if (authorization.starts_with(kBearer)) return find_token(authorization.substr(kBearer.size()));
  if (!authorization.empty()) return std::nullopt;
  const std::string secret = session_in(cookie);
  return secret.empty() ? std::nullopt : find_session(secret);
}

bool Access::is_throttled(const std::string& client) {
  const auto found = wrong_.find(client);
  return found != wrong_.end() && found->second.minute == realtime_us() / kMinuteUs &&
         found->second.count >= kWrongLoginsAMinute;
}

void Access::count_wrong(const std::string& client) {
  const int64_t minute = realtime_us() / kMinuteUs;
  if (wrong_.size() >= kLoginAddressesMax) wrong_.clear();
  Wrong& wrong = wrong_[client];
  if (wrong.minute != minute) wrong = {minute, 0};
  ++wrong.count;
}

Result<Access::Session> Access::login(std::string_view token, std::string_view code, const std::string& client) {
  const std::lock_guard lock(mutex_);
  if (is_throttled(client)) return Status(Code::kBusy, "too many wrong tokens from this address; try in a minute");
  std::optional<Grant> grant;
  const Digest hash = sha256(token);
  if (!token.empty()) grant = find_token(token);
  if (!code.empty()) {
    const Digest code_hash = sha256(code);
    auto take = db_.prepare("DELETE FROM code WHERE hash = ? AND expires_us > ? RETURNING scopes");
    if (!take.ok()) return take.status();
    const auto row = take->bind_blob(code_hash.view()).bind(realtime_us()).step();
    if (!row.ok()) return row.status();
    if (*row) grant = Grant{static_cast<uint32_t>(take->int_at(0)), std::nullopt, true};
    while (take->step().value_or(false)) continue;
  }
  if (!grant) {
    count_wrong(client);
    return Status(Code::kNotFound, "this token or code is not known, or no longer");
  }
  auto secret = random_secret();
  if (!secret.ok()) return secret.status();
  const Digest session_hash = sha256(*secret);
  const int64_t now_us = realtime_us();
  TRACKER_RETURN_IF_ERROR(db_.exec(fmt::format("DELETE FROM session WHERE expires_us < {0}; "
                                               "DELETE FROM code WHERE expires_us < {0}",
                                               now_us)
                                       .c_str()));
  auto insert = db_.prepare("INSERT INTO session(hash, scopes, expires_us, project, token) VALUES(?, ?, ?, ?, ?)");
  if (!insert.ok()) return insert.status();
  insert->bind_blob(session_hash.view()).bind(int64_t{grant->scopes}).bind(now_us + kSessionSeconds * 1'000'000);
  bind_optional(*insert, grant->project);
  if (token.empty()) insert->bind_null();
  else insert->bind_blob(hash.view());
  TRACKER_RETURN_IF_ERROR(insert->run());
  grant->by_cookie = true;
  return Session{std::move(*secret), std::move(*grant)};
}

Status Access::logout(std::string_view cookie) {
  const Digest hash = sha256(session_in(cookie));
  const std::lock_guard lock(mutex_);
  auto erase = db_.prepare("DELETE FROM session WHERE hash = ?");
  return erase.ok() ? erase->bind_blob(hash.view()).run() : erase.status();
}

Status Access::set_address(std::string_view url) {
  const std::lock_guard lock(mutex_);
  auto put = db_.prepare("INSERT OR REPLACE INTO listens(id, url) VALUES(1, ?)");
  return put.ok() ? put->bind(url).run() : put.status();
}

Result<std::string> Access::address() {
  const std::lock_guard lock(mutex_);
  return db_.query_text("SELECT url FROM listens");
}

}  // namespace tracker::internal
