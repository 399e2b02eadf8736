/* SPDX-License-Identifier: MIT */
/* The C interface of libtracker_http.so, which keeps libcurl out of every other binary. Both sides are built together;
 * the version only rules out a module of another build. */
#ifndef TRACKER_TRANSPORT_HTTP_MODULE_H_
#define TRACKER_TRANSPORT_HTTP_MODULE_H_

#include <stddef.h>
#include <stdint.h>

#define TRACKER_HTTP_MODULE_VERSION 1

extern "C" {

struct tracker_http_request {
  const char* method;
  const char* url;
  const char* authorization; /* the whole header line; NULL: none */
  const char* content_type;  /* the whole header line; NULL: none */
  const char* body;
  size_t body_size;
  long connect_ms, idle_s;
  size_t response_bytes_max;
  int (*go_on)(void* context); /* 0 ends the request */
  void* context;
};

struct tracker_http_response {
  int status;            /* 0: none came, and `error` says why */
  int cancelled;         /* 1: go_on() said 0 */
  int64_t retry_after_s; /* -1: not said */
  char content_type[128];
  char error[256];
  char* body; /* of malloc(); the caller frees it */
  size_t body_size;
};

struct tracker_http_module {
  int version;
  void* (*open)(void); /* NULL: no memory */
  void (*send)(void* client, const struct tracker_http_request* request, struct tracker_http_response* response);
  void (*close)(void* client);
};

__attribute__((visibility("default"))) const struct tracker_http_module* tracker_http(void);
}

#endif
