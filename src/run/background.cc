// SPDX-License-Identifier: MIT
#include "run/background.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>

#include "journal/dead_journal.h"
#include "journal/place.h"
#include "storage/recovery.h"

namespace tracker::internal {

bool start_background_thread(const char* name, const std::function<void()>& body) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread thread(body);
    ::pthread_setname_np(thread.native_handle(), name);
    thread.detach();
  } catch (const std::system_error&) {
    started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

void recover_in_background(const Store& store) {
  const std::vector<std::string> roots = journal_roots(store.path());
  // Whether they are dead is asked by the thread: it also knows how to leave those alone that another copy of this
  // library in this process writes (dead_journal.cc).
  const auto has_others = [](const std::string& root) { return !journal_dirs(root).empty(); };
  if (std::none_of(roots.begin(), roots.end(), has_others)) return;
  (void)start_background_thread("trk-recover", [store] {
    try {
      (void)recover_dead_writers(store);
    } catch (const std::exception&) {  // no memory, say: the journals stay for whoever comes next
    }
  });
}

}  // namespace tracker::internal
