// SPDX-License-Identifier: MIT
#include "server/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <exception>

#include "base/fs.h"
#include "server/service_impl.h"
#include "storage/frames/database_build.h"
#include "storage/recovery/recovery.h"
#include "tracker/version.h"

namespace tracker::internal {
namespace {

constexpr size_t kExtensionBytesMax = 16;

std::vector<std::string_view> parts_of_path(std::string_view path) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t slash = path.find('/');
    out.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    path.remove_prefix(slash + 1);
  }
}

bool is_extension(std::string_view text) {
  return !text.empty() && text.size() <= kExtensionBytesMax &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

// Whether the path matches the pattern; the variable parts go to `call`. Ids have one form, so a client's text is never
// used as anything else.
bool matches(std::string_view pattern, const std::vector<std::string_view>& path, Call* call) {
  const auto parts = parts_of_path(pattern);
  if (parts.size() != path.size()) return false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == "{uid}") {
      const auto uid = Id128::from_hex(path[i]);
      if (!uid || uid->hex() != path[i]) return false;
      call->uid = *uid;
    } else if (parts[i] == "{digest}") {
      const auto digest = Digest::from_hex(path[i]);
      if (!digest) return false;
      call->digest = *digest;
    } else if (parts[i] == "{file}") {
      const size_t dot = path[i].find('.');
      const auto digest = Digest::from_hex(path[i].substr(0, dot));
      if (!digest || dot == std::string_view::npos || !is_extension(path[i].substr(dot + 1))) return false;
      call->digest = *digest;
      call->extension = path[i].substr(dot + 1);
    } else if (parts[i] != path[i]) {
      return false;
    }
  }
  return true;
}

Response no_such_path() { return error_response(404, "not_found", "there is no such path"); }

}  // namespace

std::string Call::text(const std::string& name) const {
  const auto found = query.find(name);
  return found == query.end() ? "" : found->second;
}

Result<uint64_t> Call::number(const std::string& name, uint64_t otherwise, uint64_t max) const {
  const auto found = query.find(name);
  if (found == query.end()) return otherwise;
  uint64_t out = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [at, error] = std::from_chars(found->second.data(), end, out);
  if (error != std::errc() || at != end || out > max)
    return Status(Code::kInvalid, fmt::format("{} is no number from 0 to {}", name, max));
  return out;
}

std::string Call::project() const { return grant.project ? *grant.project : text("project"); }

Result<Page> page_of(const Call& call, uint64_t limit, uint64_t limit_max) {
  const auto offset = call.number("offset", 0, INT64_MAX);
  if (!offset.ok()) return offset.status();
  const auto asked = call.number("limit", limit, limit_max);
  if (!asked.ok()) return asked.status();
  return Page{*offset, *asked};
}

const std::vector<Service::Impl::Route>& Service::Impl::table() {
  using I = Impl;
  static const std::vector<Route> routes{
      {"POST", "login", kNoScope, Needs::kNothing, "", kJsonRequestBytesMax, &I::login},
      {"POST", "logout", kScopeRead, Needs::kNothing, "", 0, &I::logout},
      {"GET", "session", kScopeRead, Needs::kNothing, "", 0, &I::session},
      {"GET", "server", kScopeIngest, Needs::kNothing, "", 0, &I::server},
      {"GET", "runs/{uid}/writers", kScopeIngest, Needs::kUploads, ",project,", 0, &I::writers},
      {"POST", "runs/{uid}/frames", kScopeIngest, Needs::kUploads, ",project,", kBatchBytesMax, &I::frames},
      {"POST", "files/missing", kScopeIngest, Needs::kUploads, ",project,", kJsonRequestBytesMax, &I::missing_files},
      {"PUT", "blobs/{digest}", kScopeIngest, Needs::kUploads, ",project,offset,bytes,", kPartBytesMax, &I::put_blob},
      {"PUT", "runs/{uid}/media/{file}", kScopeIngest, Needs::kRunAndUploads, ",project,offset,bytes,", kPartBytesMax,
       &I::put_medium},
      {"PUT", "artifacts/versions", kScopeIngest, Needs::kUploads, ",project,", kJsonRequestBytesMax, &I::put_version},
      {"GET", "projects", kScopeRead, Needs::kNothing, "", 0, &I::projects},
      {"GET", "runs", kScopeRead, Needs::kNothing, ",project,where,sort,columns,offset,limit,", 0, &I::list_runs},
      {"GET", "runs/{uid}", kScopeRead, Needs::kRun, "", 0, &I::run},
      {"GET", "runs/{uid}/series", kScopeRead, Needs::kRun, ",prefix,offset,limit,", 0, &I::series},
      {"GET", "runs/{uid}/rows", kScopeRead, Needs::kRun, ",key,view,cursor,limit,", 0, &I::rows},
      {"POST", "series", kScopeRead, Needs::kNothing, "", kJsonRequestBytesMax, &I::charts},
      {"GET", "runs/{uid}/console", kScopeRead, Needs::kRun, ",stream,rank,after,limit,", 0, &I::console},
      {"GET", "runs/{uid}/environment", kScopeRead, Needs::kRun, "", 0, &I::environment},
      {"GET", "runs/{uid}/media", kScopeRead, Needs::kRun, ",key,offset,limit,", 0, &I::list_media},
      {"GET", "runs/{uid}/media/{file}", kScopeRead, Needs::kRun, "", 0, &I::medium},
      {"GET", "artifacts", kScopeRead, Needs::kNothing, ",project,", 0, &I::artifacts},
      {"GET", "artifacts/version", kScopeRead, Needs::kNothing, ",project,name,version,offset,limit,", 0,
       &I::artifact_version},
      {"GET", "blobs/{digest}", kScopeRead, Needs::kNothing, ",project,name,", 0, &I::blob},
      {"GET", "changes", kScopeRead, Needs::kNothing, ",cursor,project,", 0, &I::changed},
  };
  return routes;
}

Service::Service(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Service::~Service() = default;
Access& Service::access() { return impl_->access; }

Result<std::unique_ptr<Service>> Service::open(const Store& store, bool takes_uploads) {
  auto access = Access::open(store);
  if (!access.ok()) return access.status();
  auto impl = std::make_unique<Impl>(store, std::move(*access));
  if (takes_uploads) {
    auto ingest = Ingest::open(store, &impl->runs);
    if (!ingest.ok()) return ingest.status();
    impl->ingest = std::move(*ingest);
  }
  return std::unique_ptr<Service>(new Service(std::move(impl)));
}

std::vector<RouteInfo> Service::routes() {
  std::vector<RouteInfo> out;
  for (const Impl::Route& each : Impl::table()) out.push_back({each.method, each.pattern, each.scope, each.body_max});
  return out;
}

namespace {

// Whether a page of another site may have sent it; a browser would add the cookie.
bool is_forged(const Request& request) {
  if (request.method == "GET" || request.method == "HEAD") return false;
  return !request.marked || (!request.origin.empty() && request.origin != request.own_origin);
}

// For a path that names no run: whether it asks for another project than the token's.
bool is_other_project(const Call& call) {
  const auto asked = call.query.find("project");
  return call.grant.project && asked != call.query.end() && asked->second != *call.grant.project;
}

struct Admitted {
  const Service::Impl::Route* route = nullptr;
  Call call;
  std::unique_ptr<Response> refusal;
};

Admitted refuse(Response response) { return {nullptr, {}, std::make_unique<Response>(std::move(response))}; }

// kInvalid: a parameter that the path does not have, or a repeated one.
Status read_query(const Request& request, std::string_view names, Call* call) {
  for (const auto& [name, value] : request.query) {
    if (names.find("," + name + ",") == std::string_view::npos)
      return Status(Code::kInvalid, fmt::format("unknown parameter {}", name));
    if (!call->query.emplace(name, value).second)
      return Status(Code::kInvalid, fmt::format("the parameter {} comes twice", name));
  }
  return {};
}

// The client is authenticated before any response about the content.
Admitted admit(Service::Impl* impl, const Request& request) {
  using Needs = Service::Impl::Needs;
  const auto path = parts_of_path(request.path);
  const Service::Impl::Route* route = nullptr;
  bool is_path = false;
  Call call;
  for (const auto& each : Service::Impl::table()) {
    if (!matches(each.pattern, path, &call)) continue;
    is_path = true;
    if (request.method == each.method || (request.method == "HEAD" && std::string_view(each.method) == "GET"))
      route = &each;
  }
  call.request = &request;
  if (route == nullptr || route->scope != kNoScope) {
    const auto grant = impl->access.grant(request.authorization, request.cookie);
    if (!grant)
      return refuse(error_response(401, "no_access", "no token, or one that is not known here; nothing was changed"));
    call.grant = *grant;
    if (call.grant.by_cookie && is_forged(request))
      return refuse(error_response(403, "no_scope", "a change needs the header X-Tracker: 1 and comes from this site"));
  }
  if (!is_path) return refuse(no_such_path());
  if (route == nullptr) return refuse(error_response(405, "invalid", "this path has no such method"));
  const bool has_scope = route->scope == kNoScope || (call.grant.scopes & route->scope) != 0 ||
                         std::string_view(route->pattern) == "server" || std::string_view(route->pattern) == "logout" ||
                         std::string_view(route->pattern) == "session";
  if (!has_scope)
    return refuse(error_response(
        403, "no_scope",
        fmt::format("the token lacks the scope {}; nothing was changed", fmt::join(scope_names(route->scope), ""))));
  if (const Status read = read_query(request, route->query, &call); !read.ok()) return refuse(error_response(read));
  if (is_other_project(call))
    return refuse(error_response(403, "no_scope", "the token is of another project; nothing was changed"));
  const bool uploads = route->needs == Needs::kUploads || route->needs == Needs::kRunAndUploads;
  if (uploads && impl->ingest == nullptr)
    return refuse(error_response(403, "no_scope", "this is no server: it takes no uploads"));
  if (std::string_view(route->pattern).find("{uid}") != std::string_view::npos) {
    call.run = impl->runs.find(call.uid);
    const bool is_hidden = call.run && call.grant.project && call.run->identity.project != *call.grant.project;
    if (is_hidden || (!call.run && (route->needs == Needs::kRun || route->needs == Needs::kRunAndUploads)))
      return refuse(error_response(404, "not_found", "there is no such run"));
  }
  return {route, std::move(call), nullptr};
}

}  // namespace

namespace {

Response closed() { return error_response(503, "busy", "the server ends; send the request again"); }

}  // namespace

void Service::close() {
  const std::lock_guard alone(impl_->closing);
  impl_->is_closed = true;
  impl_->ingest.reset();
}

std::unique_ptr<Response> Service::refusal(const Request& request) {
  const std::shared_lock open(impl_->closing);
  if (impl_->is_closed) return std::make_unique<Response>(closed());
  try {
    return admit(impl_.get(), request).refusal;
  } catch (const std::exception&) {
    return std::make_unique<Response>(error_response(503, "busy", "the server lacks memory; send the request again"));
  }
}

Response Service::handle(const Request& request) {
  const std::shared_lock open(impl_->closing);
  if (impl_->is_closed) return closed();
  try {
    const Admitted admitted = admit(impl_.get(), request);
    if (admitted.refusal != nullptr) return *admitted.refusal;
    if (request.body.size() > admitted.route->body_max)
      return error_response(413, "too_large", fmt::format("at most {} bytes", admitted.route->body_max));
    return (impl_.get()->*admitted.route->handler)(admitted.call);
  } catch (const std::exception&) {
    return error_response(503, "busy", "the server lacks memory; send the request again");
  }
}

Result<std::unique_ptr<RunView>> Service::Impl::open_run(const Call& call) {
  if (ingest != nullptr) ingest->store_waiting(call.uid);
  build_ended_frames(call.run->path);
  return RunView::open(*call.run);
}

namespace {

Value grant_json(const Grant& grant) {
  Value::List scopes;
  for (const std::string& scope : scope_names(grant.scopes)) scopes.emplace_back(scope);
  return Value::Map{{"scopes", scopes}, {"project", grant.project ? Value(*grant.project) : Value()}};
}

std::string cookie_text(const std::string& name, const std::string& value, int64_t seconds, bool over_tls) {
  return fmt::format("{}={}; Path=/; Max-Age={}; HttpOnly; SameSite=Strict{}", name, value, seconds,
                     over_tls ? "; Secure" : "");
}

}  // namespace

Response Service::Impl::server(const Call&) {
  return json_response(Value::Map{{"service", "tracker"},
                                  {"version", TRK_VERSION_STRING},
                                  {"api", Value::List{1}},
                                  {"store", store.id().hex()},
                                  {"uploads", ingest != nullptr},
                                  {"limits", limits_json()}});
}

Response Service::Impl::login(const Call& call) {
  const auto body = json_object(call.request->body);
  if (!body.ok()) return error_response(body.status());
  const Request& request = *call.request;
  if (!request.marked || (!request.origin.empty() && request.origin != request.own_origin))
    return error_response(403, "no_scope", "a login needs the header X-Tracker: 1 and comes from this site");
  const auto session = access.login(body->text_or("token", ""), body->text_or("code", ""), request.client);
  if (session.status().code() == Code::kNotFound) return error_response(401, "no_access", session.status().message());
  if (session.status().code() == Code::kBusy) return error_response(429, "busy", session.status().message());
  if (!session.ok()) return error_response(session.status());
  Response out = json_response(grant_json(session->grant));
  out.headers.emplace_back("Set-Cookie",
                           cookie_text(access.cookie_name(), session->secret, kSessionSeconds, request.over_tls));
  return out;
}

Response Service::Impl::session(const Call& call) { return json_response(grant_json(call.grant)); }

Response Service::Impl::logout(const Call& call) {
  if (const Status status = access.logout(call.request->cookie); !status.ok()) return error_response(status);
  Response out = json_response(Value::map());
  out.headers.emplace_back("Set-Cookie", cookie_text(access.cookie_name(), "", 0, call.request->over_tls));
  return out;
}

}  // namespace tracker::internal
