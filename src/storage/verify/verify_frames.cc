// SPDX-License-Identifier: MIT
// verify: a .frames file.
#include <fcntl.h>
#include <fmt/format.h>

#include "base/fs.h"
#include "storage/frames/frames_log.h"
#include "storage/log/event_state.h"
#include "storage/log/series_stats.h"
#include "storage/recovery/journal_home.h"
#include "storage/store/run_folder.h"
#include "storage/verify/log_totals.h"
#include "storage/verify/verify_internal.h"

namespace tracker::internal {
namespace {

constexpr const char* kFramesAdvice = "keep a copy; `tracker export` writes what can still be read";

class FramesCheck {
 public:
  FramesCheck(Verifier& verifier, const std::string& path, const RunIdentity* run)
      : verifier_(verifier), path_(path), run_(run), now_us_(verifier.options.now_us) {}

  WriterVerdict run() {
    auto input = open_frames(path_, O_RDONLY);
    if (!input.ok()) {
      failed(input.status());
      return std::move(out_);
    }
    const std::string name = last_name(path_);
    if (!name.starts_with(input->writer.hex()))
      damage("identity", "was written by " + input->writer.hex(), "give it the name of its writer again");
    FileBytes bytes(input->fd.get(), input->size);
    FramesVisitor visitor;
    visitor.entry = [&](const FramesEntry& entry) { return take(input->writer, entry); };
    visitor.damage = [&](const FramesDamage& bad) {
      damage("frames-file", fmt::format("{} bytes at {} do not verify", bad.bytes, bad.offset), kFramesAdvice);
    };
    auto end = scan_frames(bytes, input->writer, kFramesHeaderBytes, visitor);
    if (!end.ok()) failed(end.status());
    else judge(bytes, *end);
    out_.frames = totals_.frames;
    out_.points = totals_.points;
    for (Finding& finding : out_.findings)
      if (finding.level == FindingLevel::kDamage)
        finding.intact = fmt::format("{} frames, {} points", totals_.frames, totals_.points);
    return std::move(out_);
  }

 private:
  void damage(std::string kind, std::string what, std::string advice) {
    out_.findings.push_back({FindingLevel::kDamage, std::move(kind), path_, std::move(what), "", std::move(advice)});
  }
  void failed(const Status& status) {
    if (status.code() == Code::kVersion)
      out_.findings.push_back({FindingLevel::kNewer, "newer-version", path_, status.message(), "", "update tracker"});
    else if (status.code() == Code::kCorrupt) damage("frames-file", status.message(), kRestoreAdvice);
    else damage("unreadable", status.message(), "check the disk and the file's permissions");
  }

  Status take(const Id128& writer, const FramesEntry& entry) {
    verifier_.show(entry.offset);
    auto view = add_entry(writer, entry, &totals_);
    if (!view.ok() && view.status().code() == Code::kVersion) return view.status();
    Status status = view.ok() ? Status() : view.status();
    if (status.ok() && *view) {
      status = compute_frame_stats(**view).status();
      events_.apply(**view);
    }
    if (!status.ok()) damage("frame", fmt::format("record at {}: {}", entry.offset, status.message()), kFramesAdvice);
    return {};
  }

  // Judges the bytes after the last valid record: being written, left by a dead process, or the rest of a file that was
  // cut.
  void judge(FramesBytes& bytes, uint64_t end) {
    const uint64_t size = bytes.size();
    if (!totals_.identity) {
      damage("identity", "the record that says who wrote it does not verify", kFramesAdvice);
      return;
    }
    const WriterIdentity& who = *totals_.identity;
    out_.identity = who;
    if (run_ != nullptr && who.run.uid != run_->uid)
      damage("identity",
             fmt::format("belongs to another run: {}/{}, uid {}", who.run.project, who.run.id, who.run.uid.hex()),
             "move it into that run's folder");
    const bool over = events_.end().has_value() || events_.recovered().has_value();
    const Liveness liveness = over ? Liveness::kDead : probe_writer(who, store_path_of(parent_path(path_)));
    out_.live = liveness == Liveness::kLive ||
                (liveness == Liveness::kUnknown && totals_.heartbeat_us > now_us_ - kHeartbeatTrust.count());
    if (end == size || out_.live) return;
    if (!over && waits_here(who)) {
      out_.findings.push_back({FindingLevel::kNote, "unrecovered", path_,
                               fmt::format("its last {} bytes were being written when its process died", size - end),
                               "", "the next `tracker ls` recovers them from the journal"});
      return;
    }
    damage("cut",
           fmt::format("its last {} bytes are no whole record: the file was cut, or its machine died", size - end),
           "nothing: what is whole is read; restore the file where there is a copy");
  }

  // Whether a recovery of this store is to come.
  bool waits_here(const WriterIdentity& who) const {
    const std::string store_path = store_path_of(parent_path(path_));
    const std::string journal = find_journal(who, store_path);
    const auto store = Store::open(store_path);
    if (journal.empty() || !store.ok()) return false;
    const auto writer = writer_of_journal(journal, *store);
    return writer.ok() && is_of(*writer, *store);
  }

  Verifier& verifier_;
  const std::string path_;
  const RunIdentity* run_;
  const int64_t now_us_;
  WriterVerdict out_;
  FramesTotals totals_;
  EventState events_;
};

}  // namespace

WriterVerdict verify_frames_file(Verifier& verifier, const std::string& path, const RunIdentity* run) {
  constexpr int kLooksMax = 3;
  for (int look = 1;; ++look) {
    const auto before = stamp_of(path);
    WriterVerdict verdict = FramesCheck(verifier, path, run).run();
    // Its writer ended after we read the file and before we checked the process: the end is in a newer file.
    if (verdict.findings.empty() || look == kLooksMax || before == stamp_of(path)) return verdict;
  }
}

}  // namespace tracker::internal
