// SPDX-License-Identifier: MIT
// libtracker_http.so: requests by libcurl. It is never unloaded, because curl's code may run until the process ends.
#include <arpa/inet.h>
#include <curl/curl.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "transport/http_module.h"

namespace {

// The sockets of this process, so that a forked child can close them: close-on-exec alone leaves them open until exec.
// Limit: sockets of a process. Beyond it: no further connection.
constexpr int kSocketsMax = 64;
std::atomic<int> g_sockets[kSocketsMax];

void close_in_child() {
  for (std::atomic<int>& each : g_sockets)
    if (const int fd = each.exchange(0); fd > 0) ::close(fd - 1);
}

curl_socket_t open_socket(void*, curlsocktype, struct curl_sockaddr* address) {
  const int fd = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (fd < 0) return CURL_SOCKET_BAD;
  for (std::atomic<int>& each : g_sockets) {
    int none = 0;
    if (each.compare_exchange_strong(none, fd + 1)) return fd;
  }
  ::close(fd);
  return CURL_SOCKET_BAD;
}

int close_socket(void*, curl_socket_t fd) {
  for (std::atomic<int>& each : g_sockets) {
    int own = fd + 1;
    if (each.compare_exchange_strong(own, 0)) return ::close(fd);
  }
  return 0;  // a forked child has closed it
}

void start_once() {
  // OpenSSL's own exit handler would free memory that a running request still uses.
  using Init = int (*)(uint64_t, const void*);
  constexpr uint64_t kNoAtExit = 0x00080000;
  if (const auto init = reinterpret_cast<Init>(::dlsym(RTLD_DEFAULT, "OPENSSL_init_crypto"))) init(kNoAtExit, nullptr);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  ::pthread_atfork(nullptr, nullptr, close_in_child);
}

void* open_client() {
  static std::once_flag once;
  std::call_once(once, start_once);
  return curl_easy_init();
}

void close_client(void* client) { curl_easy_cleanup(client); }

struct Transfer {
  const tracker_http_request* request;
  tracker_http_response* response;
};

size_t take_body(char* data, size_t, size_t size, void* context) {
  const auto* transfer = static_cast<Transfer*>(context);
  tracker_http_response* out = transfer->response;
  if (out->body_size + size > transfer->request->response_bytes_max) return 0;
  char* more = static_cast<char*>(::realloc(out->body, out->body_size + size + 1));
  if (more == nullptr) return 0;
  ::memcpy(more + out->body_size, data, size);
  out->body = more;
  out->body_size += size;
  return size;
}

int ask_go_on(void* context, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto* transfer = static_cast<Transfer*>(context);
  if (transfer->request->go_on(transfer->request->context) != 0) return 0;
  transfer->response->cancelled = 1;
  return 1;
}

// A proxy from the environment must not see requests to this machine itself.
bool is_loopback(const char* url) {
  CURLU* parts = curl_url();
  char* host = nullptr;
  bool out = false;
  if (curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
      curl_url_get(parts, CURLUPART_HOST, &host, 0) == CURLUE_OK) {
    in_addr address{};
    const bool is_address = ::inet_pton(AF_INET, host, &address) == 1;
    out = ::strcmp(host, "localhost") == 0 || ::strcmp(host, "[::1]") == 0 ||
          (is_address && ntohl(address.s_addr) >> 24 == 127);
  }
  curl_free(host);
  curl_url_cleanup(parts);
  return out;
}

void set_transfer(CURL* curl, const tracker_http_request* request, Transfer* transfer, curl_slist* headers) {
  curl_easy_setopt(curl, CURLOPT_URL, request->url);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS, static_cast<long>(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(curl, CURLOPT_QUICK_EXIT, 1L);
#endif
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
  if (is_loopback(request->url)) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, request->connect_ms);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request->idle_s);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket);
  curl_easy_setopt(curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_go_on);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, transfer);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
  curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
  if (::strcmp(request->method, "GET") == 0) return;
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request->body_size));
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request->body == nullptr ? "" : request->body);
}

void send(void* client, const tracker_http_request* request, tracker_http_response* out) {
  CURL* const curl = client;
  ::memset(out, 0, sizeof *out);
  out->retry_after_s = -1;
  Transfer transfer{request, out};
  char why[CURL_ERROR_SIZE] = {0};
  curl_slist* headers = curl_slist_append(nullptr, "Expect:");
  if (request->authorization != nullptr) headers = curl_slist_append(headers, request->authorization);
  if (request->content_type != nullptr) headers = curl_slist_append(headers, request->content_type);
  curl_easy_reset(curl);  // keeps the connection
  set_transfer(curl, request, &transfer, headers);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK) {
    ::snprintf(out->error, sizeof out->error, "%s", why[0] != 0 ? why : curl_easy_strerror(code));
  } else {
    long status = 0;
    curl_off_t wait = 0;
    const char* type = nullptr;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    // 0 also if there is no such header.
    if (curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait) == CURLE_OK && wait > 0) out->retry_after_s = wait;
    out->status = static_cast<int>(status);
    if (type != nullptr) ::snprintf(out->content_type, sizeof out->content_type, "%s", type);
  }
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, nullptr);
  curl_slist_free_all(headers);
}

constexpr tracker_http_module kModule{TRACKER_HTTP_MODULE_VERSION, open_client, send, close_client};

}  // namespace

const tracker_http_module* tracker_http(void) { return &kModule; }
