// SPDX-License-Identifier: MIT
// Which server a process uploads to and with which token: an argument beats TRACKER_HOST and TRACKER_TOKEN, which beat
// the file that login() writes. Threads: pure functions and file reads; they read the environment.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

struct KnownServer {
  std::string url;    // "https://host[:port][/path]" without a slash at the end; empty: no server is known
  std::string token;  // may be empty
  // The file that the token was read from; empty where an argument or a variable named it. Such a token does not
  // change.
  std::string token_file;
};

// "host:port" is http:// for this machine and https:// for any other. kInvalid: no URL of http or https, or one with a
// user, a query or a fragment; it does not repeat the text, which may hold a password.
Result<std::string> server_url(std::string_view host);
bool is_this_machine(std::string_view url);
// kInvalid: a host that is no URL, or a token with characters that no header may hold.
Result<KnownServer> known_server(std::string_view host, std::string_view token);
// The page of the server's console that shows a run: <url>/p/<project>/r/<uid>. The project is written as
// console/src/state/address.ts does: "/" is ~2F, "~" is ~7E, and a name of dots only begins with ~2E.
std::string run_page(std::string_view url, std::string_view project, std::string_view uid);
// The token as its file says it now; of one without a file the token.
std::string read_token_again(const KnownServer& server);

// <user's config folder>/tracker/login.json.
std::string login_file();
// Replaces that file, 0600. kIo names it; kInvalid as known_server().
Status save_login(const KnownServer& server);

}  // namespace tracker::internal
