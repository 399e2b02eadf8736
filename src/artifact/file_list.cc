// SPDX-License-Identifier: MIT
#include "artifact/file_list.h"

#include <algorithm>

namespace tracker::internal {
namespace {

constexpr uint64_t kRestartFiles = 32;

size_t shared_bytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + std::min(a.size(), b.size()), b.begin()).first -
                             a.begin());
}

// The path of an entry that has its whole path.
std::string_view whole_path(std::string_view packed, uint64_t at) {
  ByteReader in(packed.substr(at));
  (void)in.varint();
  return in.sized();
}

}  // namespace

void FileList::add(const ListedFile& file) {
  size_t shared = 0;
  if (size_ % kRestartFiles == 0) restarts_.push_back(packed_.size());
  else shared = shared_bytes(last_path_, file.path);
  ByteWriter out;
  out.varint(shared);
  out.sized(std::string_view(file.path).substr(shared));
  out.varint(file.bytes);
  out.zigzag(file.mtime_ns);
  packed_ += out.buffer();
  last_path_ = file.path;
  ++size_;
  bytes_ += file.bytes;
}

bool FileList::contains(std::string_view path) const {
  const Cursor at(*this, path);
  return !at.done() && at.file().path == path;
}

FileList::Cursor::Cursor(const FileList& list, std::string_view from) : packed_(list.packed_) {
  // The last restart whose path is not greater than `from`.
  const auto later =
      std::upper_bound(list.restarts_.begin(), list.restarts_.end(), from,
                       [this](std::string_view path, uint64_t at) { return path < whole_path(packed_, at); });
  if (later != list.restarts_.begin()) at_ = *(later - 1);
  next();
  while (!done_ && file_.path < from) next();
}

void FileList::Cursor::next() {
  if (at_ >= packed_.size()) {
    done_ = true;
    return;
  }
  ByteReader in(packed_.substr(at_));
  file_.path.resize(in.varint());
  file_.path += in.sized();
  file_.bytes = in.varint();
  file_.mtime_ns = in.zigzag();
  at_ += in.offset();
}

}  // namespace tracker::internal
