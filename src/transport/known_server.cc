// SPDX-License-Identifier: MIT
#include "transport/known_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/fs.h"
#include "model/value.h"
#include "transport/http.h"

namespace tracker::internal {
namespace {

// Limit: bytes of the file of login(). Beyond it: not read.
constexpr size_t kLoginFileBytesMax = 64 * 1024;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string home_folder() {
  if (std::string home = variable("HOME"); !home.empty()) return home;
  constexpr size_t kEntryBytes = 16 * 1024;
  std::vector<char> room(kEntryBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) != 0 || found == nullptr) return "/";
  return found->pw_dir;
}

// Without a scheme: the host of "host:port/path".
std::string_view host_of(std::string_view rest) {
  rest = rest.substr(0, rest.find('/'));
  if (rest.starts_with('[')) return rest.substr(0, rest.find(']') + 1);
  return rest.substr(0, rest.find(':'));
}

KnownServer read_login() {
  KnownServer out;
  const auto text = read_file(login_file(), kLoginFileBytesMax);
  if (!text.ok()) return out;
  const auto document = from_json(*text);
  if (!document.ok() || !document->is_map()) return out;
  out.url = document->text_or("host", "");
  out.token = document->text_or("token", "");
  return out;
}

Status check_token(std::string_view token) {
  const bool sound = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return sound ? Status() : Status(Code::kInvalid, "the token holds a blank or another character that no token has");
}

}  // namespace

bool is_this_machine(std::string_view url) {
  if (const size_t scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  const std::string host(host_of(url));
  in_addr address{};
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), &address) == 1;  // "127.0.0.1.example" is not one
  return host == "localhost" || host == "[::1]" || (is_address && ntohl(address.s_addr) >> 24 == 127);
}

Result<std::string> server_url(std::string_view host) {
  const Status wrong(Code::kInvalid,
                     "host: expected a name or an address such as \"https://tracker.example.org\" or "
                     "\"http://127.0.0.1:8080\", without user, password, query or fragment");
  const size_t scheme = host.find("://");
  std::string out(host);
  if (scheme == std::string_view::npos) out = (is_this_machine(host) ? "http://" : "https://") + out;
  else if (const auto name = host.substr(0, scheme); name != "http" && name != "https") return wrong;
  while (out.ends_with('/')) out.pop_back();
  const size_t begin = out.find("://");
  if (begin == std::string::npos) return wrong;
  const std::string_view rest = std::string_view(out).substr(begin + 3);
  const bool odd = std::any_of(rest.begin(), rest.end(), [](char c) {
    return c <= ' ' || c >= 0x7f || std::string_view("@?#\\\"<>^`{|}%").find(c) != std::string_view::npos;
  });
  if (odd || rest.empty() || host_of(rest).empty()) return wrong;
  return out;
}

Result<KnownServer> known_server(std::string_view host, std::string_view token) {
  KnownServer out;
  const KnownServer login = read_login();
  out.url = !host.empty() ? std::string(host) : variable("TRACKER_HOST");
  if (out.url.empty()) out.url = login.url;
  if (out.url.empty()) return KnownServer();
  auto url = server_url(out.url);
  if (!url.ok()) return url.status();
  out.url = std::move(*url);
  out.token = !token.empty() ? std::string(token) : variable("TRACKER_TOKEN");
  // The file's token belongs to the file's server and is sent to no other.
  if (out.token.empty() && login.url == out.url) {
    out.token = login.token;
    out.token_file = login_file();
  }
  TRACKER_RETURN_IF_ERROR(check_token(out.token));
  return out;
}

std::string run_page(std::string_view url, std::string_view project, std::string_view uid) {
  std::string name;
  for (const char c : project) {
    if (c == '~') name += "~7E";
    else if (c == '/') name += "~2F";
    else name.push_back(c);
  }
  if (name.find_first_not_of('.') == std::string::npos) name = name.empty() ? "~" : "~2E" + name.substr(1);
  return fmt::format("{}/p/{}/r/{}", url, url_encoded(name), uid);
}

std::string read_token_again(const KnownServer& server) {
  if (server.token_file.empty()) return server.token;
  const KnownServer login = read_login();
  return login.url == server.url && check_token(login.token).ok() ? login.token : server.token;
}

std::string login_file() {
  std::string folder = variable("XDG_CONFIG_HOME");
  if (folder.empty() || folder[0] != '/') folder = join_path(home_folder(), ".config");
  return join_path(folder, "tracker/login.json");
}

Status save_login(const KnownServer& server) {
  const std::string path = login_file();
  constexpr uint32_t kFolderMode = 0700, kFileMode = 0600;
  TRACKER_RETURN_IF_ERROR(make_dirs(parent_path(path), kFolderMode));
  return write_file_atomic(path, to_json(Value::Map{{"host", server.url}, {"token", server.token}}, 2) + "\n",
                           kFileMode);
}

}  // namespace tracker::internal
