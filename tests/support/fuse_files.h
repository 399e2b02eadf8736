// SPDX-License-Identifier: MIT
// A FUSE file system in the memory of its server process, as bare as they come: no links, no locks, no shared mappings.
// It can be made to fail or to stall.
#pragma once

#include <atomic>
#include <map>

#include "support/fuse_mount.h"

namespace tracker::internal {

enum Stall {
  kNone,
  kEverything,  // a server that is gone
  kChanges,     // a frozen volume: it is read until somebody writes, then it is locked for all
};

struct FuseFaults {
  std::atomic<int> write_errno;  // of write and fsync
  std::atomic<int> stall;        // a Stall; while it is not kNone requests wait
};

class FuseFiles {
 public:
  FuseFiles(int device, FuseFaults* faults) : device_(device), faults_(faults) { nodes_[1].folder = true; }

  void serve() {
    std::string request(1 << 20, '\0');
    for (;;) {
      const ssize_t n = ::read(device_, request.data(), request.size());
      if (n < 0 && (errno == EINTR || errno == ENOENT)) continue;
      if (n < static_cast<ssize_t>(sizeof(fuse_in_header))) return;
      std::memcpy(&in_, request.data(), sizeof in_);
      while (stalls()) ::usleep(1000);
      answer(request.substr(sizeof in_, static_cast<size_t>(n) - sizeof in_));
    }
  }

 private:
  struct Node {
    bool folder = false;
    std::string data;
    std::map<std::string, uint64_t> names;
  };

  bool stalls() const {
    const int stall = faults_->stall.load();
    if (stall != kChanges) return stall != kNone;
    return in_.opcode == FUSE_MKDIR || in_.opcode == FUSE_CREATE || in_.opcode == FUSE_WRITE;
  }

  template <typename T>
  static T take(const std::string& body) {
    T out{};
    std::memcpy(&out, body.data(), std::min(sizeof out, body.size()));
    return out;
  }
  static std::string name_at(const std::string& body, size_t at) { return body.c_str() + at; }

  void reply(int error, const void* body = nullptr, size_t bytes = 0) const {
    fuse_out_header out{static_cast<uint32_t>(sizeof(fuse_out_header) + bytes), -error, in_.unique};
    std::string message(reinterpret_cast<const char*>(&out), sizeof out);
    if (bytes > 0) message.append(static_cast<const char*>(body), bytes);
    if (::write(device_, message.data(), message.size()) < 0) return;
  }

  fuse_attr attr_of(uint64_t inode) {
    const Node& node = nodes_[inode];
    fuse_attr attr{};
    attr.ino = inode;
    attr.size = node.data.size();
    attr.mode = node.folder ? S_IFDIR | 0755 : S_IFREG | 0644;
    attr.nlink = 1;
    attr.blksize = 4096;
    return attr;
  }
  fuse_entry_out entry_of(uint64_t inode) {
    fuse_entry_out entry{};
    entry.nodeid = inode;
    entry.attr = attr_of(inode);
    return entry;
  }
  static fuse_open_out opened() {
    fuse_open_out out{};
    out.open_flags = FOPEN_DIRECT_IO;  // no shared mappings
    return out;
  }
  uint64_t make(const std::string& name, bool folder) {
    const uint64_t inode = ++last_;
    nodes_[inode].folder = folder;
    nodes_[in_.nodeid].names[name] = inode;
    return inode;
  }

  void answer(const std::string& body) {
    Node& node = nodes_[in_.nodeid];
    switch (in_.opcode) {
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET: return;
      case FUSE_INIT: {
        fuse_init_out out{};
        out.major = FUSE_KERNEL_VERSION;
        out.minor = 31;
        out.max_write = 65'536;
        return reply(0, &out, sizeof out);
      }
      case FUSE_GETATTR: {
        fuse_attr_out out{};
        out.attr = attr_of(in_.nodeid);
        return reply(0, &out, sizeof out);
      }
      case FUSE_SETATTR: {
        const auto change = take<fuse_setattr_in>(body);
        if ((change.valid & FATTR_SIZE) != 0) node.data.resize(change.size);
        fuse_attr_out out{};
        out.attr = attr_of(in_.nodeid);
        return reply(0, &out, sizeof out);
      }
      case FUSE_STATFS: {
        fuse_statfs_out out{};
        out.st = {1u << 20, 1u << 20, 1u << 20, 1000, 1000, 4096, 255, 4096, 0, {}};
        return reply(0, &out, sizeof out);
      }
      case FUSE_LOOKUP: {
        const auto at = node.names.find(name_at(body, 0));
        if (at == node.names.end()) return reply(ENOENT);
        const fuse_entry_out entry = entry_of(at->second);
        return reply(0, &entry, sizeof entry);
      }
      case FUSE_MKDIR: {
        const fuse_entry_out entry = entry_of(make(name_at(body, sizeof(fuse_mkdir_in)), true));
        return reply(0, &entry, sizeof entry);
      }
      case FUSE_CREATE: {
        struct {
          fuse_entry_out entry;
          fuse_open_out open;
        } out{entry_of(make(name_at(body, sizeof(fuse_create_in)), false)), opened()};
        return reply(0, &out, sizeof out);
      }
      case FUSE_OPEN:
      case FUSE_OPENDIR: {
        const fuse_open_out out = in_.opcode == FUSE_OPEN ? opened() : fuse_open_out{};
        return reply(0, &out, sizeof out);
      }
      case FUSE_RMDIR:
      case FUSE_UNLINK: node.names.erase(name_at(body, 0)); return reply(0);
      case FUSE_RENAME: return rename(body);
      case FUSE_READ: {
        const auto read = take<fuse_read_in>(body);
        const std::string part = read.offset < node.data.size() ? node.data.substr(read.offset, read.size) : "";
        return reply(0, part.data(), part.size());
      }
      case FUSE_WRITE: return write(node, body);
      case FUSE_READDIR: return list(node, take<fuse_read_in>(body));
      case FUSE_FSYNC: return reply(faults_->write_errno.load());
      case FUSE_FSYNCDIR:
      case FUSE_FLUSH:
      case FUSE_RELEASE:
      case FUSE_RELEASEDIR: return reply(0);
      default: return reply(ENOSYS);
    }
  }

  void write(Node& node, const std::string& body) const {
    if (const int error = faults_->write_errno.load(); error != 0) return reply(error);
    const auto head = take<fuse_write_in>(body);
    if (node.data.size() < head.offset + head.size) node.data.resize(head.offset + head.size);
    node.data.replace(head.offset, head.size, body.substr(sizeof head, head.size));
    fuse_write_out out{head.size, 0};
    reply(0, &out, sizeof out);
  }

  void rename(const std::string& body) {
    const auto head = take<fuse_rename_in>(body);
    const std::string from = name_at(body, sizeof head), to = name_at(body, sizeof head + from.size() + 1);
    nodes_[head.newdir].names[to] = nodes_[in_.nodeid].names[from];
    nodes_[in_.nodeid].names.erase(from);
    reply(0);
  }

  void list(const Node& node, const fuse_read_in& read) const {
    std::string out;
    uint64_t at = 0;
    for (const auto& [name, inode] : node.names) {
      if (at++ < read.offset) continue;
      std::string entry(FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + name.size()), '\0');
      fuse_dirent head{};
      head.ino = inode;
      head.off = at;
      head.namelen = static_cast<uint32_t>(name.size());
      std::memcpy(entry.data(), &head, FUSE_NAME_OFFSET);
      std::memcpy(entry.data() + FUSE_NAME_OFFSET, name.data(), name.size());
      if (out.size() + entry.size() > read.size) break;
      out += entry;
    }
    reply(0, out.data(), out.size());
  }

  int device_;
  FuseFaults* faults_;
  fuse_in_header in_{};
  std::map<uint64_t, Node> nodes_;
  uint64_t last_ = 1;
};

}  // namespace tracker::internal
