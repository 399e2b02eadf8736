// SPDX-License-Identifier: MIT
// The server that a process uploads to, and the token: an argument beats TRACKER_HOST and TRACKER_TOKEN, which beat the
// file that login() writes. Threads: pure functions and file reads; they read the environment.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace tracker::internal {

struct KnownServer {
  std::string url;    // "https://host[:port][/path]" without a slash at the end; empty: no server is known
  std::string token;  // may be empty
  // The file that the token was read from; empty for a token from an argument or a variable, which does not change.
  std::string token_file;
};

// "host:port" is http:// for this machine and https:// for any other. kInvalid: no URL of http or https, or one with a
// user, a query or a fragment; the message does not repeat the text, which may have a password.
Result<std::string> server_url(std::string_view host);
bool is_this_machine(std::string_view url);
// kInvalid: a host that is not a URL, or a token with characters that a header cannot have.
Result<KnownServer> known_server(std::string_view host, std::string_view token);
// The console's page of a run: <url>/p/<project>/r/<uid>. The project is written as console/src/state/address.ts does:
// "/" is ~2F, "~" is ~7E, and a name of dots only starts with ~2E.
std::string run_page(std::string_view url, std::string_view project, std::string_view uid);
// The token in its file now; without a file the present token.
std::string read_token_again(const KnownServer& server);

// <user's config folder>/tracker/login.json.
std::string login_file();
// Replaces that file, 0600. kIo names it; kInvalid as known_server().
Status save_login(const KnownServer& server);

}  // namespace tracker::internal
