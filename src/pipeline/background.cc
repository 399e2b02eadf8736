// SPDX-License-Identifier: MIT
#include "pipeline/background.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <system_error>
#include <thread>

#include "base/throw_memory.h"
#include "journal/dead/dead_journal.h"
#include "journal/ring/place.h"
#include "pipeline/warnings.h"
#include "storage/recovery/recovery.h"

namespace tracker::internal {

bool start_background_thread(const char* name, const std::function<void()>& body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread thread([body] {
      constexpr std::chrono::milliseconds kPause{20};
      while (!take_throw_memory()) std::this_thread::sleep_for(kPause);
      body();
    });
    ::pthread_setname_np(thread.native_handle(), name);
    thread.detach();
  } catch (const std::exception&) {  // no thread, or no memory for it
    started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void recover_in_background(const Store& store, bool quiet) {
  const std::vector<std::string> roots = journal_roots(store.path());
  // Whether they are dead is asked by the thread: it also knows how to leave those alone that another copy of this
  // library in this process writes (dead_journal.cc).
  const auto has_others = [](const std::string& root) { return !journal_dirs(root).empty(); };
  if (std::none_of(roots.begin(), roots.end(), has_others)) return;
  (void)start_background_thread("trk-recover", [store, quiet] {
    try {
      const RecoveryReport report = recover_dead_writers(store);
      if (quiet) return;
      for (const std::string& line : report.left) print_line(line);
    } catch (const std::exception&) {  // no memory, say: the journals stay for the next recovery
    }
  });
}

}  // namespace tracker::internal
