// SPDX-License-Identifier: MIT
#include "journal/dead/dead_journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <new>
#include <optional>
#include <utility>

#include "journal/dead/dead_ring.h"
#include "journal/ring/liveness.h"
#include "journal/ring/place.h"
#include "journal/ring/ring_file.h"
#include "journal/ring/spill.h"

namespace tracker::internal {

namespace {

constexpr const char* kNewerHint = "update tracker; what waits in this journal is stored then";

Status read_exactly(int fd, void* to, size_t bytes, const std::string& path) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t n = ::read(fd, at, bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Status::from_errno(errno, "cannot read", path);
    if (n == 0) return Status(Code::kCorrupt, "was cut while it was read");
    at += n;
    bytes -= static_cast<size_t>(n);
  }
  return {};
}

uint64_t nonce_of(const std::string& ring_name) {
  return std::strtoull(ring_name.c_str() + std::string_view("ring-").size(), nullptr, 16) & kNonceMask;
}

void remove_journal_files(const std::string& dir, bool keep_identity) {
  auto names = list_dir(dir);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    const bool identity = name == "lock" || name == "defs";
    if (identity ? !keep_identity : name == "spill" || name == kSigtermFile || name.starts_with("ring-"))
      remove_file(join_path(dir, name));
  }
}

Result<Definitions> definitions_of(const std::string& dir, const WriterIdentity* writer) {
  auto read = read_definitions(dir);
  if (read.ok() || writer == nullptr) return read;
  const Code code = read.status().code();
  if (code != Code::kCorrupt && !(code == Code::kNotFound && holds_log(dir))) return read;
  return salvage_definitions(read_file(join_path(dir, "defs"), kDefinitionsBytesMax).value_or(""), *writer);
}

}  // namespace

DeadJournal::DeadJournal(std::string dir) : dir_(std::move(dir)) {}
DeadJournal::~DeadJournal() = default;

Result<std::unique_ptr<DeadJournal>> DeadJournal::open(const std::string& dir, const WriterIdentity* writer) {
  auto journal = claim(dir, writer);
  if (journal.ok()) TRACKER_RETURN_IF_ERROR((*journal)->read_files());
  return journal;
}

Result<std::unique_ptr<DeadJournal>> DeadJournal::claim(const std::string& dir, const WriterIdentity* known) {
  std::unique_ptr<DeadJournal> journal(new DeadJournal(dir));
  // Its writer is read before its lock file is opened: another copy of this library in this very process may hold
  // that lock, and closing our descriptor would drop it (owner_lock.h).
  auto definitions = definitions_of(dir, known);
  if (!definitions.ok()) return definitions.status();
  const WriterIdentity& writer = definitions->identity;
  if (is_same_process(writer, this_process())) return Status(Code::kBusy, dir + " belongs to this process");
  auto lock = lock_dead(dir, writer);
  if (!lock.ok()) return lock.status();
  journal->lock_ = std::make_unique<OwnerLock>(std::move(*lock));
  definitions = definitions_of(dir, known);              // again, now that no process writes it
  if (definitions.status().code() == Code::kNotFound) {  // recovered meanwhile; the lock file may be one that we made
    remove_file(join_path(dir, "lock"));
    ::rmdir(dir.c_str());
  }
  if (!definitions.ok()) return definitions.status();
  journal->take(std::move(*definitions));
  return journal;
}

Result<std::unique_ptr<DeadJournal>> DeadJournal::look(const std::string& dir, const WriterIdentity* writer) {
  std::unique_ptr<DeadJournal> journal(new DeadJournal(dir));
  auto definitions = definitions_of(dir, writer);
  if (!definitions.ok()) return definitions.status();
  journal->take(std::move(*definitions));
  TRACKER_RETURN_IF_ERROR(journal->read_files());
  return journal;
}

void DeadJournal::take(Definitions definitions) {
  definitions_ = std::move(definitions);
  if (definitions_.salvaged)
    problems_.push_back(dir_ + "/defs does not say any more who wrote it; the files of that writer in the store do");
}

// The spill file last: a living writer moves what is in a ring there, never back.
Status DeadJournal::read_files() {
  auto names = list_dir(dir_);
  if (!names.ok()) return names.status();
  for (const std::string& name : *names)
    if (name.starts_with("ring-")) TRACKER_RETURN_IF_ERROR(read_ring(name));
  leave_copies_out();
  judge_counters();
  uint64_t nonce = 0;
  std::memcpy(&nonce, identity().writer.bytes.data(), sizeof nonce);
  SpillContents spill = read_spill(dir_, nonce);
  TRACKER_RETURN_IF_ERROR(spill.refused);
  if (spill.version > kSpillVersion)
    return Status(Code::kVersion,
                  fmt::format("{}/spill: a spill file of version {}, this library reads up to {}", dir_, spill.version,
                              kSpillVersion),
                  kNewerHint);
  spilled_ = std::move(spill.frames);
  spill_damaged_bytes_ = spill.damaged_bytes;
  spill_sound_ = spill.problem.empty();
  if (!spill_sound_) problems_.push_back(std::move(spill.problem));
  return {};
}

// Into memory of our own: a mapping of the file would be a SIGBUS where somebody cuts it, or where its disk fails.
// Somebody may have unlinked the lock file alone. Its living owner makes a new one within a second; when the process is
// known to be dead, we do. Where it is not known (another pid namespace), nothing is touched.
Result<OwnerLock> DeadJournal::lock_dead(const std::string& dir, const WriterIdentity& writer) {
  auto lock = OwnerLock::take(dir);
  const bool missing = !lock.ok() && lock.status().code() == Code::kNotFound && !path_exists(join_path(dir, "lock")) &&
                       path_exists(join_path(dir, "defs"));
  if (!missing) return lock;
  switch (probe_journal(writer, dir)) {
    case Liveness::kDead: return OwnerLock::take(dir, true);
    case Liveness::kLive: return Status(Code::kBusy, dir + " is in use");
    default: break;
  }
  return Status(Code::kCorrupt, dir + " has no lock file, and whether its process lives is unknown here",
                "it is left alone; an empty file `lock` in it lets it be recovered when that process is dead");
}

// Into memory of our own: a mapping of the file would be a SIGBUS where somebody cuts it, or where its disk fails. What
// a cut file lacks reads as zeros, which verify nowhere: it is counted as damage, and the rest is read.
Status DeadJournal::read_ring(const std::string& name) {
  const std::string path = join_path(dir_, name);
  auto fd = open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat st;
  if (!fd.ok() || ::fstat(fd->get(), &st) != 0 || !S_ISREG(st.st_mode)) {
    if (!fd.ok() && may_be_read_later(fd.status())) return fd.status();
    problems_.push_back(path + ": cannot be read: an unknown number of points is lost");
    ++unreadable_;
    return {};
  }
  const auto bytes = static_cast<size_t>(st.st_size);
  if (bytes == 0) return {};  // its process died while it made the file
  alignas(RingHeader) char page[kRingHeaderBytes] = {};
  RingHeader& header = *new (page) RingHeader;
  const Status first = read_exactly(fd->get(), page, std::min(bytes, sizeof page), path);
  const uint64_t data = bytes - std::min(bytes, sizeof page);
  if (!first.ok()) return first.code() == Code::kIo ? first : give_up(name, header, data, first.message());
  if (header.magic == 0 && bytes >= sizeof page) {  // likewise, or the disk has lost it
    const auto holds = holds_data(fd->get(), sizeof page);
    if (!holds.ok()) return holds.status();
    if (!*holds) blank_.push_back(nonce_of(name));
    // A living process may have made it meanwhile: then the next look finds it.
    else if (uint64_t magic = 0; ::pread(fd->get(), &magic, sizeof magic, 0) == sizeof magic && magic == 0)
      name_blank(name);
    return {};
  }
  const auto can_be = [](uint64_t size) {
    return size >= 4096 && (size & (size - 1)) == 0 && size <= kRingFileBytesMax;
  };
  // The file was made as long as it says, which one that was cut or appended to is not.
  if (header.magic == kRingMagic && header.version == kRingVersion && header.data_bytes != data &&
      !can_be(header.data_bytes) && can_be(data)) {
    problems_.push_back(
        fmt::format("{}: the header is damaged: it says {} bytes, the file has {}", path, header.data_bytes, data));
    header.data_bytes = data;
  }
  const uint64_t size = header.data_bytes;
  if (header.magic == kRingMagic && header.version > kRingVersion &&
      header.version <= kRingVersion + kRingVersionsAhead)
    return Status(
        Code::kVersion,
        fmt::format("{}: a ring of version {}, this library reads up to {}", path, header.version, kRingVersion),
        kNewerHint);
  if (header.magic == kUnreleasedRing) return Status(Code::kVersion, fmt::format("{} {}", path, kUnreleasedState));
  if (header.magic != kRingMagic || header.version != kRingVersion || !can_be(size) ||
      std::memcmp(header.writer, identity().writer.bytes.data(), 16) != 0)
    return give_up(name, header, data, "not a ring of this journal");
  if (data < size) problems_.push_back(fmt::format("{}: is cut by {} bytes", path, size - data));
  if (data > size)
    problems_.push_back(fmt::format("{}: is {} bytes longer than it was made; they are not read", path, data - size));
  auto ring = std::make_unique<RingCopy>();
  void* base = ::mmap(nullptr, kRingHeaderBytes + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return Status::from_errno(errno, "no memory to read", path);
  ring->header = static_cast<const RingHeader*>(base);
  ring->bytes = kRingHeaderBytes + size;
  ring->path = path;
  std::memcpy(base, page, sizeof page);
  if (const Status rest = read_exactly(fd->get(), static_cast<char*>(base) + sizeof page, std::min(data, size), path);
      !rest.ok())
    return rest.code() == Code::kIo ? rest : give_up(name, header, data, rest.message());
  rings_.push_back(std::move(ring));
  return {};
}

// Less a call that its process died in: `accepted` may have it or not (ring_format.h, accepted_at).
uint64_t DeadJournal::points_accepted(const RingCopy& ring) {
  const RingHeader& header = *ring.header;
  const uint64_t tail = header.tail.load(), accepted = header.accepted.load();
  const RingSpan span{ring.header, ring.data(), header.data_bytes, header.nonce, tail, tail};
  const uint64_t begun = tail % 8 == 0 ? points_begun(span) : 0;
  const uint64_t at = header.accepted_at.load();
  const bool neither_has_it = at >> 1 == accepted && (at & 1) == (tail >> 3 & 1);
  const bool only_at_has_it = at >> 1 == accepted + begun;
  return neither_has_it || only_at_has_it ? accepted : accepted - std::min(accepted, begun);
}

// Somebody's copy of a ring holds the same points once more. One that is here under another name alone is the ring,
// renamed.
void DeadJournal::leave_copies_out() {
  const auto is_named_so = [this](const RingCopy& ring) {
    return ring.path == join_path(dir_, fmt::format("ring-{:016x}", ring.header->nonce));
  };
  const auto comes_first = [&](const auto& a, const auto& b) {
    if (is_named_so(*a) != is_named_so(*b)) return is_named_so(*a);
    return a->header->tail.load() > b->header->tail.load();
  };
  std::stable_sort(rings_.begin(), rings_.end(), comes_first);
  std::map<uint64_t, std::string> kept;
  std::erase_if(rings_, [&](const auto& ring) {
    const auto [first, added] = kept.emplace(ring->header->nonce, ring->path);
    if (!added)
      problems_.push_back(
          fmt::format("{}: a copy of {}; what it holds is not stored twice", ring->path, first->second));
    return !added;
  });
}

void DeadJournal::leave_retired_out(const std::vector<RingPosition>& positions) {
  std::erase_if(rings_, [&positions](const auto& ring) {
    const uint64_t nonce = ring->header->nonce;
    return std::none_of(positions.begin(), positions.end(),
                        [nonce](const RingPosition& p) { return p.nonce == nonce; }) &&
           !path_exists(ring->path);
  });
}

void DeadJournal::name_blank(const std::string& name) {
  problems_.push_back(join_path(dir_, name) + ": its header reads as zeros: an unknown number of points is lost");
  ++unreadable_;
}

Status DeadJournal::give_up(const std::string& name, const RingHeader& header, uint64_t bytes, const std::string& why) {
  problems_.push_back(fmt::format("{}: {}", join_path(dir_, name), why));
  constexpr uint64_t kTextBytesMin = kRecordHeadBytes + 8;
  const uint64_t tail = header.tail.load(), texts = header.texts.load();
  unread_.push_back({nonce_of(name), std::min(bytes, kRingFileBytesMax), tail, header.accepted.load(),
                     texts <= tail / kTextBytesMin ? texts : 0, 0});
  return {};
}

bool DeadJournal::is_written() const {
  return std::any_of(rings_.begin(), rings_.end(), [](const auto& ring) {
    uint64_t tail = 0;
    auto fd = open_file(ring->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    return fd.ok() && ::pread(fd->get(), &tail, sizeof tail, offsetof(RingHeader, tail)) == sizeof tail &&
           tail > ring->header->tail.load();
  });
}

uint64_t DeadJournal::known_position(uint64_t name) const {
  uint64_t out = 0;
  for (const RingPosition& position : known_)
    if (position.nonce == name) out = std::max(out, position.position);
  return out;
}

uint64_t DeadJournal::points_in_spill_damage() const {
  uint64_t bytes = 0, points = 0;
  for (const FrameRecord& record : spilled_)
    if (const auto frame = FrameView::parse(record.bytes); frame.ok()) {
      bytes += record.bytes.size();
      points += frame->points();
    }
  if (spill_damaged_bytes_ == 0) return 0;
  if (bytes == 0) return points_in_damage(spill_damaged_bytes_);
  return static_cast<uint64_t>(std::llround(static_cast<double>(points) * static_cast<double>(spill_damaged_bytes_) /
                                            static_cast<double>(bytes)));
}

bool DeadJournal::rings_reach(const std::vector<RingPosition>& positions) const {
  const auto is_blank = [this](const RingPosition& p) { return std::count(blank_.begin(), blank_.end(), p.nonce) > 0; };
  if (std::any_of(positions.begin(), positions.end(), is_blank)) return false;
  return unread_.empty() && std::all_of(rings_.begin(), rings_.end(), [&positions](const auto& ring) {
           const RingHeader& header = *ring->header;
           const auto at = std::find_if(positions.begin(), positions.end(),
                                        [&header](const RingPosition& p) { return p.nonce == header.nonce; });
           const uint64_t from = at == positions.end() ? 0 : at->position;
           const uint64_t tail = header.tail.load();
           return from <= tail && tail - from <= header.data_bytes;
         });
}

bool DeadJournal::rings_hold(const std::vector<RingPosition>& positions) const {
  const auto is_here = [this](const RingPosition& position) {
    return std::any_of(rings_.begin(), rings_.end(),
                       [&](const auto& ring) { return ring->header->nonce == (position.nonce & kNonceMask); });
  };
  return rings_reach(positions) && std::all_of(spilled_.begin(), spilled_.end(), [&](const FrameRecord& record) {
           return std::all_of(record.positions.begin(), record.positions.end(), is_here);
         });
}

uint64_t DeadJournal::highest_number() const {
  uint64_t out = largest(&RingHeader::highest_number, kFrameNumberMax);
  for (const FrameRecord& record : spilled_) out = std::max(out, record.seq);
  return out;
}

uint64_t DeadJournal::largest(std::atomic<uint64_t> RingHeader::* count, uint64_t bound) const {
  uint64_t out = 0;
  for (const auto& ring : rings_)
    if (const uint64_t each = (ring->header->*count).load(); each <= bound) out = std::max(out, each);
  return out;
}

// No checksum covers a header, for it changes with each record. What a ring has accepted lies in the bytes before its
// tail, 16 a value and 32 a text at the least; what other rings had accepted is bounded as losses are. A count that
// cannot be says nothing: one flipped bit would have been 4611686018427387904 points that are lost.
void DeadJournal::judge_counters() {
  constexpr uint64_t kTextBytesMin = kRecordHeadBytes + 8;
  for (const auto& ring : rings_) {
    const RingHeader& header = *ring->header;
    const uint64_t tail = header.tail.load(), texts = header.texts.load();
    const auto say = [&](std::string_view what, uint64_t count) {
      problems_.push_back(
          fmt::format("{}: the header is damaged: it says {} {}, which cannot be: an unknown number "
                      "may be lost",
                      ring->path, count, what));
      ++unreadable_;
    };
    ring->counts = points_accepted(*ring) <= tail / sizeof(ValuePair) && texts <= tail / kTextBytesMin;
    if (!ring->counts && texts > tail / kTextBytesMin) say("texts", texts);
    else if (!ring->counts) say("values", header.accepted.load());
    else if (header.accepted_before.load() > kLossCountMax)
      say("values in rings that are gone", header.accepted_before.load());
    else if (header.leaving.load() != 0 && header.accepted_before_then.load() > kLossCountMax)
      say("values in a ring that goes and those that are gone", header.accepted_before_then.load());
    else if (header.texts_before.load() > kLossCountMax)
      say("texts in rings that are gone", header.texts_before.load());
    else if (header.leaving.load() != 0 && header.texts_before_then.load() > kLossCountMax)
      say("texts in a ring that goes and those that are gone", header.texts_before_then.load());
    else if (header.texts_unfiled.load() > kLossCountMax || header.texts_committed.load() > kLossCountMax)
      say("texts in no ring", std::max(header.texts_unfiled.load(), header.texts_committed.load()));
    else if (header.accepted_unfiled.load() > kLossCountMax)
      say("values in rings that were no files", header.accepted_unfiled.load());
  }
}

bool DeadJournal::has_ring(uint64_t nonce) const {
  const auto is_it = [nonce](const auto& ring) { return ring->header->nonce == nonce; };
  const auto is_named_so = [nonce](const UnreadRing& ring) { return ring.nonce == nonce; };
  return std::any_of(rings_.begin(), rings_.end(), is_it) || std::any_of(unread_.begin(), unread_.end(), is_named_so) ||
         std::find(blank_.begin(), blank_.end(), nonce) != blank_.end();
}

// What rings had that are gone. Its process may have died between the end of a ring and the word of it.
uint64_t DeadJournal::gone(std::atomic<uint64_t> RingHeader::* before, std::atomic<uint64_t> RingHeader::* then) const {
  uint64_t out = largest(before, kLossCountMax);
  for (const auto& ring : rings_) {
    const uint64_t leaving = ring->header->leaving.load(), next = (ring->header->*then).load();
    if (leaving != 0 && next <= kLossCountMax && !has_ring(leaving)) out = std::max(out, next);
  }
  return out;
}

uint64_t DeadJournal::accepted_before() const {
  return gone(&RingHeader::accepted_before, &RingHeader::accepted_before_then);
}

uint64_t DeadJournal::texts_before() const { return gone(&RingHeader::texts_before, &RingHeader::texts_before_then); }

bool DeadJournal::counts_all() const { return unread_.empty() && unreadable_ == 0 && !rings_.empty(); }

Logged DeadJournal::accepted() const {
  Logged out;
  for (const auto& ring : rings_) {
    if (!ring->counts) continue;
    out += {points_accepted(*ring), ring->header->texts.load()};
  }
  out += {accepted_before() + accepted_unfiled(), texts_before()};
  return out;
}

Result<std::string> DeadJournal::set_aside() {
  const std::string kept = parent_path(dir_) + "/damaged-" + identity().writer.hex();
  for (int i = 1; i <= 100; ++i) {
    const std::string target = i == 1 ? kept : fmt::format("{}-{}", kept, i);
    if (::rename(dir_.c_str(), target.c_str()) == 0) return target;
  }
  return Status::from_errno(errno, "cannot rename", dir_);
}

bool DeadJournal::got_sigterm() const { return path_exists(join_path(dir_, kSigtermFile)); }

void DeadJournal::remove() {
  for (const auto& ring : rings_) remove_file(ring->path);
  remove_journal_files(dir_, true);
  remove_file(join_path(dir_, "defs"));
  remove_file(join_path(dir_, "lock"));  // last: without it the next recoverer finds nothing to do
  ::rmdir(dir_.c_str());
}

void remove_unborn_journals(const std::string& root) {
  for (const std::string& dir : list_unborn_journals(root)) {
    remove_journal_files(dir, false);
    ::rmdir(dir.c_str());
  }
}

}  // namespace tracker::internal
