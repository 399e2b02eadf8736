// SPDX-License-Identifier: MIT
// tracker server, tracker server token, tracker ui: what of them needs no Python.
#include <fmt/format.h>

#include <charconv>

#include "base/shell_word.h"
#include "cli/commands/command.h"
#include "cli/commands/python_side.h"
#include "cli/output/table.h"
#include "cli/output/text.h"
#include "server/access.h"
#include "storage/recovery/journal_home.h"

namespace tracker::internal {
namespace {

constexpr uint16_t kServerPort = 8420;

bool is_loopback(std::string_view host) { return host.starts_with("127.") || host == "localhost" || host == "::1"; }

Result<uint16_t> read_port(const std::string& text, uint16_t otherwise) {
  if (text.empty()) return otherwise;
  uint16_t out = 0;
  const auto [at, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || at != text.data() + text.size())
    return Status(Code::kInvalid, fmt::format("--port {}: a number from 0 to 65535 is expected", text));
  return out;
}

int serve_store(Console& console, const ServeOptions& options) {
  if (console.python == nullptr || !console.python->serve)
    return fail(console, Status(Code::kUnsupported, "the HTTP server is in the Python package",
                                "pip install 'tracker-run[server]', and its command `tracker` starts it"));
  const Status status = console.python->serve(options);
  return status.ok() ? kExitOk : fail(console, status);
}

int create_token(Console& console, const Store& store, const ServerOptions& options) {
  uint32_t scopes = kNoScope;
  for (const std::string& name : options.scopes) {
    const auto scope = scope_of(name);
    if (!scope.ok()) return fail(console, scope.status());
    scopes |= *scope;
  }
  auto access = Access::open(store);
  if (!access.ok()) return fail(console, access.status());
  const auto project = options.token_project.empty() ? std::nullopt : std::optional(options.token_project);
  const auto token = access->create_token(options.token_name, scopes, project);
  if (!token.ok()) return fail(console, token.status());
  console.print(*token + "\n");
  return finish(console, {}, Code::kOk);
}

int list_tokens(Console& console, const Store& store, bool json) {
  auto access = Access::open(store);
  const auto tokens = access.ok() ? access->tokens() : Result<std::vector<TokenInfo>>(access.status());
  if (!tokens.ok()) return fail(console, tokens.status());
  Table table({{"NAME"}, {"SCOPES"}, {"PROJECT"}, {"CREATED"}});
  Value::List list;
  for (const TokenInfo& each : *tokens) {
    const std::vector<std::string> scopes = scope_names(each.scopes);
    table.add({each.name, fmt::format("{}", fmt::join(scopes, " ")), each.project.value_or("all"),
               time_text(each.created_us)});
    list.push_back(Value::Map{{"name", each.name},
                              {"scopes", Value::List(scopes.begin(), scopes.end())},
                              {"project", each.project ? Value(*each.project) : Value()},
                              {"created_us", each.created_us}});
  }
  if (json) console.print(visible_json(to_json(Value::Map{{"tokens", std::move(list)}}, 2)) + "\n");
  else if (tokens->empty()) console.print("No tokens; tracker server token create makes one.\n");
  else console.print(table.render(console));
  return finish(console, {}, Code::kOk);
}

int revoke_tokens(Console& console, const Store& store, const std::string& name) {
  auto access = Access::open(store);
  const auto revoked = access.ok() ? access->revoke(name) : Result<uint64_t>(access.status());
  if (!revoked.ok()) return fail(console, revoked.status());
  if (*revoked == 0)
    return fail(console, Status(Code::kNotFound, fmt::format("no token is called \"{}\"", visible(name)),
                                "tracker server token list names them"));
  console.print(fmt::format("revoked {}: who uses it, or has logged in with it, is refused from now on\n",
                            counted(*revoked, "token")));
  return finish(console, {}, Code::kOk);
}

}  // namespace

int run_server(Console& console, const GlobalOptions& global, const ServerOptions& options) {
  const auto port = read_port(options.port, kServerPort);
  if (!port.ok()) return fail(console, port.status());
  const auto store = Store::open_or_create(Store::resolve(global.dir));
  if (!store.ok()) return fail(console, store.status());
  if (!store->problem().empty()) console.note(store->problem());
  switch (options.token) {
    case ServerOptions::Token::kCreate: return create_token(console, *store, options);
    case ServerOptions::Token::kList: return list_tokens(console, *store, options.json);
    case ServerOptions::Token::kRevoke: return revoke_tokens(console, *store, options.token_name);
    case ServerOptions::Token::kNone: break;
  }
  if (!is_loopback(options.host)) {
    auto access = Access::open(*store);
    if (!access.ok()) return fail(console, access.status());
    if (!access->has_tokens())
      return fail(console,
                  Status(Code::kInvalid,
                         fmt::format("--host {}: other machines may connect, and there is no token yet", options.host),
                         fmt::format("tracker server token create --dir {} --name NAME --scope ingest "
                                     "--scope read",
                                     shell_word(store->path()))));
  }
  return serve_store(console, {store->path(), options.host, *port, true, false, options.allowed_hosts});
}

int run_ui(Console& console, const GlobalOptions& global, const UiOptions& options) {
  const auto port = read_port(options.port, 0);
  if (!port.ok()) return fail(console, port.status());
  const auto store = open_store(console, global);
  if (!store.ok()) return fail(console, store.status());
  if (!options.link) return serve_store(console, {store->path(), "127.0.0.1", *port, false, !options.no_browser, {}});
  auto access = Access::open(*store);
  if (!access.ok()) return fail(console, access.status());
  const auto url = access->address();
  if (!url.ok())
    return fail(console, Status(Code::kNotFound, "no `tracker ui` of this store runs", "tracker ui starts one"));
  const auto code = access->create_code(kScopeRead);
  if (!code.ok()) return fail(console, code.status());
  console.note(fmt::format("{}/#code={}", *url, *code));
  return kExitOk;
}

}  // namespace tracker::internal
