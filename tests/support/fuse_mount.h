// SPDX-License-Identifier: MIT
// A real FUSE file system for tests, answered by a child process over /dev/fuse: it has room, folders can be made in
// it, files cannot. Needs a mount namespace of its own; where that is not allowed a test skips by name.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tracker::internal {

class FuseServer {
 public:
  explicit FuseServer(int device) : device_(device) {}

  void serve() {
    std::vector<char> request(1 << 20);
    for (;;) {
      const ssize_t n = ::read(device_, request.data(), request.size());
      if (n < 0 && (errno == EINTR || errno == ENOENT)) continue;
      if (n < static_cast<ssize_t>(sizeof(fuse_in_header))) return;  // unmounted
      std::memcpy(&in_, request.data(), sizeof in_);
      answer(std::string(request.data() + sizeof in_, static_cast<size_t>(n) - sizeof in_));
    }
  }

 private:
  static fuse_attr folder(uint64_t inode) {
    fuse_attr attr{};
    attr.ino = inode;
    attr.mode = S_IFDIR | 0700;
    attr.nlink = 2;
    return attr;
  }

  void reply(int error, const void* body = nullptr, size_t bytes = 0) {
    fuse_out_header out{static_cast<uint32_t>(sizeof(fuse_out_header) + bytes), -error, in_.unique};
    std::string message(reinterpret_cast<const char*>(&out), sizeof out);
    message.append(static_cast<const char*>(body), bytes);
    if (::write(device_, message.data(), message.size()) < 0) return;
  }

  void reply_entry() {
    fuse_entry_out entry{};
    entry.nodeid = 2;  // all folders are one
    entry.attr = folder(2);
    reply(0, &entry, sizeof entry);
  }

  void answer(const std::string& body) {
    if (in_.opcode == FUSE_INIT) {
      fuse_init_out out{};
      out.major = FUSE_KERNEL_VERSION;
      out.minor = 31;
      out.max_write = 65'536;
      return reply(0, &out, sizeof out);
    }
    if (in_.opcode == FUSE_FORGET || in_.opcode == FUSE_BATCH_FORGET) return;
    if (in_.opcode == FUSE_GETATTR) {
      fuse_attr_out out{};
      out.attr = folder(in_.nodeid);
      return reply(0, &out, sizeof out);
    }
    if (in_.opcode == FUSE_STATFS) {
      fuse_statfs_out out{};
      out.st = {1u << 20, 1u << 20, 1u << 20, 1000, 1000, 4096, 255, 4096, 0, {}};
      return reply(0, &out, sizeof out);
    }
    if (in_.opcode == FUSE_OPENDIR) {
      fuse_open_out out{};
      return reply(0, &out, sizeof out);
    }
    if (in_.opcode == FUSE_READDIR || in_.opcode == FUSE_RELEASEDIR) return reply(0);
    if (in_.opcode == FUSE_LOOKUP) return made_.contains(body.c_str()) ? reply_entry() : reply(ENOENT);
    if (in_.opcode == FUSE_MKDIR) {
      made_.insert(body.substr(sizeof(fuse_mkdir_in)).c_str());
      return reply_entry();
    }
    reply(ENOSYS);
  }

  int device_;
  fuse_in_header in_{};
  std::set<std::string> made_;
};

// False where it is not allowed. The server ends with the process that called, or with the mount.
inline bool mount_fuse(
    const std::string& path,
    const std::function<void(int device)>& serve = [](int device) { FuseServer(device).serve(); }) {
  const int device = ::open("/dev/fuse", O_RDWR | O_CLOEXEC);
  if (device < 0) return false;
  const std::string options = "fd=" + std::to_string(device) + ",rootmode=40000,user_id=0,group_id=0";
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("tracker-test", path.c_str(), "fuse", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    ::close(device);
    return false;
  }
  const pid_t parent = ::getpid();
  if (::fork() == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent) serve(device);
    ::_exit(0);
  }
  ::close(device);
  return true;
}

}  // namespace tracker::internal
