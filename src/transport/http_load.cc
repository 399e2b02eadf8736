// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <mutex>

#include "base/fs.h"
#include "transport/http.h"
#include "transport/http_module.h"

namespace tracker::internal {
namespace {

constexpr const char* kModuleName = "libtracker_http.so";
constexpr const char* kSafe = "the run is recorded locally; tracker sync sends it";

// In the folder of the library or Python module with this code, or where a program's libraries are installed.
std::string module_path() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&module_path), &info) == 0 || info.dli_fname == nullptr) return "";
  // For code in the program itself, dli_fname is the name by which it was called.
  char* real = ::realpath(path_exists(info.dli_fname) ? info.dli_fname : "/proc/self/exe", nullptr);
  const std::string folder = real == nullptr ? "" : parent_path(real);
  ::free(real);
  for (const char* beside : {"", "../lib", "../../lib", "../lib/x86_64-linux-gnu", "../lib64"}) {
    std::string path = join_path(join_path(folder, beside), kModuleName);
    if (is_regular_file(path)) return path;
  }
  return "";
}

Result<const tracker_http_module*> load() {
  const std::string path = module_path();
  if (path.empty())
    return Status(Code::kUnsupported, "this build of tracker has no upload: it was built without libcurl's headers",
                  kSafe);
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return Status(
        Code::kUnsupported,
        fmt::format("an upload needs libcurl.so.4 (Debian: libcurl4): {}", why == nullptr ? "unknown error" : why),
        kSafe);
  }
  using Entry = const tracker_http_module* (*)();
  const auto entry = reinterpret_cast<Entry>(::dlsym(library, "tracker_http"));
  if (entry == nullptr || entry()->version != TRACKER_HTTP_MODULE_VERSION)
    return Status(Code::kUnsupported, fmt::format("{} is of another version of tracker", path), kSafe);
  return entry();
}

class ModuleClient : public HttpClient {
 public:
  ModuleClient(const tracker_http_module* module, void* client) : module_(module), client_(client) {}
  ~ModuleClient() override { module_->close(client_); }

  Result<HttpResponse> send(const HttpRequest& request, const std::function<bool()>& go_on) override {
    const std::string authorization = "Authorization: Bearer " + request.token;
    const std::string type = "Content-Type: " + request.content_type;
    tracker_http_request in{};
    in.method = request.method.c_str();
    in.url = request.url.c_str();
    in.authorization = request.token.empty() ? nullptr : authorization.c_str();
    in.content_type = request.content_type.empty() ? nullptr : type.c_str();
    in.body = request.body.data();
    in.body_size = request.body.size();
    in.connect_ms = kConnectWait.count();
    in.idle_s = std::chrono::duration_cast<std::chrono::seconds>(kIdleWait).count();
    in.response_bytes_max = kResponseBytesMax;
    in.go_on = [](void* context) { return (*static_cast<const std::function<bool()>*>(context))() ? 1 : 0; };
    in.context = const_cast<std::function<bool()>*>(&go_on);
    tracker_http_response out;
    module_->send(client_, &in, &out);
    HttpResponse response;
    response.status = out.status;
    if (out.body != nullptr) response.body.assign(out.body, out.body_size);
    ::free(out.body);
    if (out.cancelled != 0) return Status(Code::kClosed, "the request was ended");
    if (out.status == 0) return Status(Code::kIo, out.error);
    if (out.retry_after_s >= 0) response.retry_after = std::chrono::seconds(out.retry_after_s);
    response.content_type = out.content_type;
    response.content_type = response.content_type.substr(0, response.content_type.find(';'));
    std::transform(response.content_type.begin(), response.content_type.end(), response.content_type.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return response;
  }

 private:
  const tracker_http_module* const module_;
  void* const client_;
};

}  // namespace

Result<std::unique_ptr<HttpClient>> open_http_client() {
  static std::mutex mutex;
  static const tracker_http_module* module = nullptr;
  const std::lock_guard<std::mutex> guard(mutex);
  if (module == nullptr) {
    auto loaded = load();
    if (!loaded.ok()) return loaded.status();
    module = *loaded;
  }
  void* client = module->open();
  if (client == nullptr) return Status(Code::kLimit, "out of memory");
  return std::unique_ptr<HttpClient>(new ModuleClient(module, client));
}

std::string url_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("-._~").find(c) != std::string_view::npos)
      out.push_back(c);
    else out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace tracker::internal
