// SPDX-License-Identifier: MIT
// verify: the folder of one run.
#include <fmt/format.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <set>

#include "base/fs.h"
#include "model/key.h"
#include "storage/database/writer_parts.h"
#include "storage/frames/database_build.h"
#include "storage/recovery/recovery.h"
#include "storage/store/attempt_claim.h"
#include "storage/store/run_folder.h"
#include "storage/store/stop_request.h"
#include "storage/verify/verify_internal.h"
#include "storage/writer/store_files.h"

namespace tracker::internal {
namespace {

constexpr size_t kWriterHexDigits = 32;

// The files of one writer by what their names say.
struct WriterFiles {
  std::set<int> parts;                  // numbers
  std::vector<std::string> companions;  // -wal, -shm, -journal
};

// The name of the database that SQLite keeps a file of this name beside; empty where it is none.
std::string_view main_file(std::string_view name) {
  for (const std::string_view suffix : {"-wal", "-shm", "-journal"})
    if (name.ends_with(suffix) && name.substr(0, name.size() - suffix.size()).ends_with(".db"))
      return name.substr(0, name.size() - suffix.size());
  return {};
}

// Puts a file where it belongs; false for one that is no writer's.
bool classify(const std::string& name, std::map<std::string, WriterFiles>* writers) {
  const std::string_view main = main_file(name);
  const int number = part_number(main.empty() ? name : main);
  if (number == 0) return false;
  WriterFiles& files = (*writers)[name.substr(0, kWriterHexDigits)];
  if (main.empty()) files.parts.insert(number);
  else files.companions.push_back(name);
  return true;
}

class RunCheck {
 public:
  RunCheck(Verifier& verifier, const std::string& path, const std::string& name)
      : verifier_(verifier), path_(path), name_(name) {}

  RunVerdict run() {
    if (is_link(path_) && !path_exists(join_path(path_, kRunFile))) {
      verifier_.note("unknown-file", path_, "is a link to what is no run's folder",
                     "remove the link where it is not wanted");
      return {};
    }
    auto names = list_dir(path_);
    if (!names.ok()) {
      if (is_directory(path_))
        verifier_.damage("unreadable", path_, names.status().message(), "check the disk and its permissions");
      else verifier_.note("unknown-file", path_, "is no run's folder", "remove it where it is not wanted");
      return {};
    }
    std::map<std::string, WriterFiles> writers;
    for (const std::string& name : *names) check_kind(name);
    for (const std::string& name : *names) look_at_file(name, &writers);
    const bool is_run = check_document(!writers.empty());
    for (const auto& [id, files] : writers) check_writer(id, files);
    if (!document_.ok() && !writers.empty()) say_document();
    if (is_run) ++verifier_.report.runs;
    if (document_.ok()) out_.run = *document_;
    return std::move(out_);
  }

 private:
  std::string file(const std::string& name) const { return join_path(path_, name); }

  void look_at_file(const std::string& name, std::map<std::string, WriterFiles>* writers) {
    if (name == kRunFile || name == kUploadFile || name == kStopFile || name == "media" || classify(name, writers))
      return;
    if (claimed_attempt(name)) return look_at_claim(file(name));
    if (name.starts_with(std::string(kRunFile) + ".damaged-")) return;  // repair_run_document() has kept it
    struct stat st{};
    const bool old = ::lstat(file(name).c_str(), &st) == 0 && ::time(nullptr) - st.st_mtime >= kLeftoverAge.count();
    if (!is_leftover_name(name))
      verifier_.note("unknown-file", file(name), "is no part of a run",
                     linked_.contains(name) ? "a link of this run leads to it: put it in the link's place"
                                            : "remove it where it is not wanted");
    else if (old)
      verifier_.note("leftover", file(name), "was left half made by a process that died", "`tracker gc` removes it");
  }

  // Its number is taken whatever it holds; what it says of a launch is for ranks that begin with it.
  void look_at_claim(const std::string& path) {
    const Status status = check_claim(path);
    if (status.code() == Code::kVersion) verifier_.failed("attempt-file", path, status, "");
    else if (!status.ok())
      verifier_.note("attempt-file", path, status.message() + "; the number of the attempt is taken all the same",
                     "nothing is to be done: no row is in it");
  }

  // Readers, recovery and a resumed run refuse what is no plain file among a writer's: one may be redirected by a link,
  // and would wait for a pipe.
  void check_kind(const std::string& name) {
    std::map<std::string, WriterFiles> writers;
    const std::string path = file(name);
    if (!classify(name, &writers)) return;
    const FileKind kind = file_kind(path);  // one look: a writer that ends removes its -wal and -shm
    if (kind == FileKind::kNone || kind == FileKind::kPlain) return;
    std::error_code failed;
    const std::filesystem::path target = std::filesystem::read_symlink(path, failed);
    const bool companion = !name.ends_with(".db") && !name.ends_with(".frames");  // those are checked by themselves
    if (failed && !companion) return;
    if (failed)
      return damage("no-file", path, "is no file but a folder, a pipe or a device",
                    "move it away, then run `tracker ls`");
    linked_.insert(target.filename());
    damage("no-file", path, "is a symbolic link to " + target.string() + "; recovery and a resumed run refuse it",
           "put the file it leads to in its place, then run `tracker ls`");
  }

  // False for a folder that is being made, or was left so.
  bool check_document(bool has_writers) {
    document_ = read_run_document(file(kRunFile));
    if (!document_.ok() && document_.status().code() == Code::kNotFound && !has_writers) {
      struct stat st{};
      if (::stat(path_.c_str(), &st) == 0 && ::time(nullptr) - st.st_mtime >= kLeftoverAge.count())
        verifier_.note("leftover", path_, "is a run's folder without a run", "remove it where it is not wanted");
      return false;
    }
    const std::string project = document_.ok() ? folder_name(document_->project) + "/" : "";
    if (document_.ok() && !name_.empty() && name_ != project + folder_name(document_->id) &&
        name_ != project + document_->uid.hex())
      verifier_.note("misplaced", path_,
                     fmt::format("is {}/{} by its run.json, and is in the folder of another name", document_->project,
                                 document_->id),
                     "commands find it by its id, or PROJECT/FOLDER; move it to the folder of its name");
    if (!document_.ok() && !has_writers) say_document();
    return true;
  }

  // A run.json that is gone or damaged can be written again from any of its writers' databases.
  void say_document() {
    Status status = document_.status();
    if (status.code() == Code::kNotFound)
      status = Status(Code::kCorrupt, "is missing, and databases of a run are beside it");
    std::string text = said_ ? run_document(*said_) : "";
    for (char& c : text)
      if (c == '\n') c = ' ';
    verifier_.failed("run-file", file(kRunFile), status,
                     said_ ? "write it again: " + text : "restore it from a copy of the run's folder");
  }

  void check_writer(const std::string& id, const WriterFiles& files) {
    ++verifier_.report.writers;
    for (const std::string& name : files.companions)
      if (!files.parts.contains(part_number(main_file(name)))) check_orphan(name);
    const std::string first = file(id + ".db");
    NumberRanges missing;
    bool all_read = true, any_live = false, any_unread = false;
    for (int part = 1; !files.parts.empty() && part <= *files.parts.rbegin(); ++part) {
      const bool is_there = files.parts.contains(part);
      if (!is_there) missing.add(static_cast<uint64_t>(part));
      const std::string path = part_path(first, part);
      const WriterVerdict verdict = is_there ? check_part(path) : WriterVerdict();
      if (verdict.identity) check_place(path_exists(path) ? path : frames_path_of(path), part, *verdict.identity);
      any_live |= verdict.live;
      any_unread |= !verdict.log_read;
      all_read = all_read && verdict.log_read && verdict.identity;
    }
    verifier_.report.live += any_live ? 1 : 0;
    verifier_.report.unread += any_unread ? 1 : 0;
    if (!missing.empty())
      damage("parts", first, fmt::format("part {} of {} is missing", missing.text(), *files.parts.rbegin()),
             "restore it from a copy; readers count what it held as lost", "the other parts");
    else if (files.parts.size() > 1 && all_read && !any_live) check_united(first);
  }

  // What each part says of those before it.
  void check_united(const std::string& first) {
    const auto reader = WriterReader::open(first);
    const auto all = reader.ok() ? (*reader)->snapshot() : Result<WriterSnapshot>(reader.status());
    if (!all.ok() || all->missing.points + all->missing.texts + all->missing.dropped == 0) return;
    damage("parts", first,
           fmt::format("the parts lack what they held: {}", counted_text({all->missing.points, all->missing.texts})),
           "restore them from a copy; readers count what is missing as lost", "what is in the parts");
  }

  // What a part says of itself.
  void check_place(const std::string& path, int part, const WriterIdentity& said) {
    if (said.part != part) damage("parts", path, fmt::format("says that it is part {}", said.part), kRestoreAdvice);
  }

  WriterVerdict check_part(const std::string& db) {
    const std::string frames = frames_path_of(db);
    const bool has_frames = path_exists(frames), reads_db = path_exists(db) && (!has_frames || is_whole_database(db));
    const RunIdentity* run = document_.ok() ? &*document_ : nullptr;
    if (reads_db && has_frames) check_both(db, frames);
    if (reads_db) return take(verify_database(verifier_, db, run), db);
    WriterVerdict verdict = verify_frames_file(verifier_, frames, run);
    // Its writer ended after the folder was listed, and made a database of it.
    if (!path_exists(frames) && path_exists(db)) return take(verify_database(verifier_, db, run), db);
    return take(std::move(verdict), frames);
  }

  void check_orphan(const std::string& name) {
    const bool has_rows = name.ends_with("-wal") && size_of_file(file(name)) > 0;
    if (has_rows)
      damage("orphan", file(name), "is the log of a database that is gone",
             "restore the database beside it; without it its rows cannot be read");
    else verifier_.note("leftover", file(name), "belongs to a database that is gone", "remove it");
  }

  void check_both(const std::string& db, const std::string& frames) {
    if (covers(db, frames))
      verifier_.note("leftover", frames, "has become a database, which holds all of it", "`tracker gc` removes it");
    else
      damage("frames-file", frames, "holds frames that the database beside it lacks, and readers take the database",
             "move the database away: readers then take the .frames file", "both files by themselves");
  }

  WriterVerdict take(WriterVerdict verdict, const std::string& path) {
    if (verdict.identity) {
      said_ = verdict.identity->run;
      out_.store = verdict.identity->store;
    }
    for (Finding& finding : verdict.findings) verifier_.add(std::move(finding));
    verifier_.report.frames += verdict.frames;
    verifier_.report.points += verdict.points;
    verifier_.count_bytes(size_of_file(path));
    return verdict;
  }

  void damage(std::string kind, std::string path, std::string what, std::string advice, std::string intact = "") {
    verifier_.damage(std::move(kind), std::move(path), std::move(what), std::move(advice), std::move(intact));
  }

  Verifier& verifier_;
  const std::string path_, name_;
  Result<RunIdentity> document_ = Status(Code::kNotFound, "");
  std::optional<RunIdentity> said_;  // by a database
  RunVerdict out_;
  std::set<std::string> linked_;  // names that links among the writers' files lead to
};

}  // namespace

RunVerdict verify_run_folder(Verifier& verifier, const std::string& path, const std::string& name) {
  return RunCheck(verifier, path, name).run();
}

}  // namespace tracker::internal
