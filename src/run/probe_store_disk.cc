// SPDX-License-Identifier: MIT
#include "run/probe_store_disk.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>

#include "pipeline/background.h"
#include "storage/store/store.h"

namespace tracker::internal {
namespace {

// Shared with the thread, which may outlive the call.
struct Answer {
  std::mutex mutex;
  std::condition_variable changed;
  bool here = false;
};

// A store that is not there yet is made: where that fails, init finds the same error and says it.
void touch_disk(const std::string& store_path) {
  struct stat found;
  if (::stat(store_path.c_str(), &found) != 0 && !Store::open_or_create(store_path).ok()) return;
  const int fd = ::open(store_path.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = ::write(fd, "", 1);
  ::close(fd);
}

}  // namespace

Status probe_store_disk(const std::string& store_path, std::chrono::seconds wait) {
  const auto answer = std::make_shared<Answer>();
  const bool asked = start_background_thread("trk-ask", [answer, store_path] {
    touch_disk(store_path);
    const std::lock_guard<std::mutex> guard(answer->mutex);
    answer->here = true;
    answer->changed.notify_all();
  });
  if (!asked) return {};
  std::unique_lock<std::mutex> guard(answer->mutex);
  if (answer->changed.wait_for(guard, wait, [&] { return answer->here; })) return {};
  return Status(Code::kIo, fmt::format("the disk of {} has not answered for {} s", store_path, wait.count()));
}

}  // namespace tracker::internal
