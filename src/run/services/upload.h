// SPDX-License-Identifier: MIT
// mode="online": what a run has stored durably is sent to a server while it runs, by one background thread a process.
// Nothing that logs knows of it. The thread is never joined; what it uses lives as long as the process. Threads: public
// functions from any; a forked child has neither the thread nor its sockets.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pipeline/writer.h"
#include "sync/run_sync.h"
#include "transport/known_server.h"
#include "transport/server_link.h"

namespace tracker::internal {

constexpr std::chrono::milliseconds kUploadInterval{500};    // after a round that sent all there was
constexpr std::chrono::milliseconds kNoAccessPause{60'000};  // after an answer that a person has to change

class RunUpload {
 public:
  // Null where the system gives no thread. Returns at once: the network belongs to the thread.
  static std::shared_ptr<RunUpload> start(std::shared_ptr<Writer> writer, KnownServer server, bool is_first);

  // Before the writer closes its files: none of them is open here until end(), if that can be had within `timeout`.
  void hold(std::chrono::milliseconds timeout);
  // The writer has ended. Waits until the server has all, or `deadline`, or a request fails although no server answered
  // before either. False: something is left; the thread goes on as long as the process lives.
  bool end(std::chrono::steady_clock::time_point deadline);
  const std::string& url() const { return server_url_; }

 private:
  friend class UploadThread;
  RunUpload(std::shared_ptr<Writer> writer, KnownServer server, bool is_first);
  void look();
  void note(const ServerAnswer& answer);
  bool is_over() const;
  std::chrono::steady_clock::time_point due() const;

  const std::string server_url_;
  const bool is_first_;
  std::timed_mutex files_;  // held while files of the run are read; by hold() until end()
  bool held_ = false;       // of the thread that finishes the run

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::shared_ptr<Writer> writer_;  // null once nothing of it is asked any more
  std::chrono::steady_clock::time_point due_;
  bool ended_ = false;     // end() was called
  bool whole_ = false;     // a round after that sent all
  bool given_up_ = false;  // nothing more is tried in this process
  bool reachable_ = true;  // as of the last round
  bool waiting_ = true;    // end() may wait for another round

  // The thread's own.
  ServerLink link_;
  std::unique_ptr<RunSync> sync_;
  Warnings warnings_;
  size_t problems_said_ = 0;
};

// Sends a run of this machine, until all is there or nothing has moved for kNoProgressMax. `folder`: the project on the
// server, empty: the run's own; unless `make_folder` it must be there (kNotFound). kUnsupported: no server is known;
// kTimeout: something is left, and the message says what to do; kIo: it names what the server refuses.
struct UploadRequest {
  std::string host, token, folder;
  bool make_folder = false;
};
Status upload_run(const std::string& store_path, const RunFolder& run, const UploadRequest& request,
                  const std::function<bool()>& go_on);

// Writes host and token to the user's login file, 0600. kUnsupported: no host is given or known; kInvalid: not a host,
// or the server refuses the token: nothing is written. kTimeout: written, and the server could not be asked.
Status login(std::string_view host, std::string_view token, const std::function<bool()>& go_on);

}  // namespace tracker::internal
