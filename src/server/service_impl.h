// SPDX-License-Identifier: MIT
// Shared by the handlers of a service. Private to service.cc and the files *_routes.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/digest.h"
#include "query/view/run_view.h"
#include "server/access.h"
#include "server/changes.h"
#include "server/ingest.h"
#include "server/request.h"
#include "server/run_index.h"
#include "server/service.h"
#include "server/upload_parts.h"

namespace tracker::internal {

// Limit: bytes of a part of a file. Beyond it: 413.
constexpr uint64_t kPartBytesMax = 16 << 20;
// Limit: digests of one question. Beyond it: 413.
constexpr uint64_t kDigestsMax = 1000;
constexpr uint64_t kListLimit = 200;
// Limit: items of a list of one answer. Beyond it: 400.
constexpr uint64_t kListLimitMax = 1000;

// An admitted request: its grant, and the parameters of its path and query.
struct Call {
  const Request* request = nullptr;
  Grant grant;
  Id128 uid;                                 // of {uid}
  Digest digest;                             // of {digest} and {file}
  std::string extension;                     // of {file}
  std::map<std::string, std::string> query;  // only names that the path has
  std::optional<RunFolder> run;              // of {uid}, if the path needs an existing one

  std::string text(const std::string& name) const;
  // Digits only; `otherwise` if it is absent. kInvalid.
  Result<uint64_t> number(const std::string& name, uint64_t otherwise, uint64_t max) const;
  // The project of the request: that of its token, or the requested one; empty: all.
  std::string project() const;
};

struct Page {
  uint64_t offset = 0, limit = kListLimit;
};
Value limits_json();  // the server's limits
Result<Page> page_of(const Call& call, uint64_t limit = kListLimit, uint64_t limit_max = kListLimitMax);

// A response with a file, for a browser to save under `name`.
Response attachment(const std::string& path, std::string_view extension, std::string_view name);

struct Service::Impl {
  Impl(const Store& the_store, Access the_access)
      : store(the_store), access(std::move(the_access)), runs(store), changes(store), parts(store) {}

  using Handler = Response (Impl::*)(const Call& call);
  enum class Needs { kNothing, kRun, kUploads, kRunAndUploads };
  struct Route {
    const char* method;
    const char* pattern;
    Scope scope;
    Needs needs;
    const char* query;  // names, each with a comma on both sides
    size_t body_max;
    Handler handler;
  };
  static const std::vector<Route>& table();

  // The opened run of the call, with everything that was received of it.
  Result<std::unique_ptr<RunView>> open_run(const Call& call);

  // service.cc
  Response server(const Call& call);
  Response login(const Call& call);
  Response session(const Call& call);
  Response logout(const Call& call);
  // upload_routes.cc
  Response writers(const Call& call);
  Response frames(const Call& call);
  // file_routes.cc
  Response missing_files(const Call& call);
  Response put_blob(const Call& call);
  Response put_medium(const Call& call);
  Response put_version(const Call& call);
  // run_routes.cc
  Response projects(const Call& call);
  Response list_runs(const Call& call);
  Response run(const Call& call);
  Response changed(const Call& call);
  // series_routes.cc
  Response charts(const Call& call);
  Response rows(const Call& call);
  // detail_routes.cc
  Response series(const Call& call);
  Response console(const Call& call);
  Response environment(const Call& call);
  Response list_media(const Call& call);
  Response medium(const Call& call);
  // artifact_routes.cc
  Response artifacts(const Call& call);
  Response artifact_version(const Call& call);
  Response blob(const Call& call);

  const Store store;
  Access access;
  RunIndex runs;
  Changes changes;
  UploadParts parts;
  std::unique_ptr<Ingest> ingest;  // none: it takes no uploads
  std::shared_mutex closing;       // requests share it
  bool is_closed = false;
};

}  // namespace tracker::internal
