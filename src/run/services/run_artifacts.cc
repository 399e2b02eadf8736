// SPDX-License-Identifier: MIT
// What a run makes and uses: log_artifact() and use_artifact().
#include <fmt/format.h>

#include "artifact/reference.h"
#include "base/write_signals.h"
#include "run/run_impl.h"

namespace tracker::internal {
namespace {

// "v3" or a digest: what is stored later under that name does not change what it says.
bool names_one_content(const ArtifactName& name) {
  const std::string_view version = name.version;
  return name.is_digest || (version.size() > 1 && version[0] == 'v' &&
                            version.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

}  // namespace

void Run::start_artifacts() {
  RunArtifacts::Target target;
  target.store_path = impl_->plan.store_path;
  target.run = impl_->plan.run;
  if (impl_->plan.awaits)
    target.awaited_run = [awaits = impl_->plan.awaits]() -> const RunIdentity* {
      const AwaitedRun::Found* found = awaits->found();
      return found != nullptr ? &found->joined.run : nullptr;
    };
  target.max_disk = impl_->plan.max_disk;
  // The queue of large values, because it never waits.
  target.note = [writer = impl_->writer](const Value& event) {
    return writer->push_large(EventType::kArtifact, encode_cbor(event), 0, false);
  };
  target.flush = [writer = impl_->writer](std::chrono::milliseconds timeout) { return writer->flush(timeout); };
  impl_->artifacts = std::make_shared<RunArtifacts>(std::move(target));
}

Result<std::shared_ptr<LoggedArtifact>> Run::log_artifact(ArtifactDraft draft, LogArtifactOptions options) {
  TRACKER_RETURN_IF_ERROR(check_log_artifact(options));
  // Where the files were written for this artifact alone nothing changes them. In a store with a bound copies would
  // take the room of points.
  if (options.staging.empty() && impl_->artifacts && !impl_->forked())
    draft.hold(std::make_shared<HeldFiles>(store_path(), impl_->plan.max_disk == 0));
  const auto out = std::make_shared<LoggedArtifact>(project(), std::move(draft), std::move(options));
  out->max_disk = impl_->plan.max_disk;
  if (impl_->forked()) {
    say_forked_once();
    out->settle(ArtifactState::kNotRecorded, {});
    return out;
  }
  if (!impl_->artifacts) {
    out->settle(ArtifactState::kNotRecorded, {});
    return out;
  }
  const Status status = impl_->artifacts->add(out);
  if (!status.ok() && impl_->plan.options.strict) return status;
  return out;
}

Result<FoundArtifact> Run::use_artifact(std::string_view text, std::string_view use_as,
                                        std::chrono::milliseconds timeout) {
  const NoWriteSignals guard;
  TRACKER_RETURN_IF_ERROR(check_use_as(use_as));
  const auto name = parse_artifact_name(text, project());
  if (!name.ok()) return name.status();
  const bool records = impl_->artifacts != nullptr && !impl_->forked();
  const bool one_content = names_one_content(*name);
  const auto find = [&]() -> Result<FoundArtifact> {
    const auto store = Store::open(store_path());
    if (!store.ok()) return store.status();
    return find_artifact(*store, text, project());
  };
  auto found = one_content || !records ? find() : Result<FoundArtifact>(Status(Code::kNotFound, ""));
  bool refused = false;
  if (records && !found.ok()) {
    const Status status = impl_->artifacts->wait_for(name->project, name->name, timeout, &refused);
    if (!status.ok())
      return Status(Code::kTimeout,
                    fmt::format("\"{}\" may be what this process has logged last: {}, after {} ms", text,
                                status.message(), timeout.count()),
                    "wait() for it first, or name a version that is stored, as in \"data:v3\"");
    found = find();
  }
  if (!found.ok() || !records) return found;
  if (refused && !one_content)
    impl_->artifacts->say_once(
        fmt::format("use {}", text),
        fmt::format(
            "use_artifact(\"{}\") gives {}/{}:{}, for what this process logged last under that name was refused", text,
            found->info.project, found->info.name, found->version.name()));
  LineageEdge edge;
  edge.use = ArtifactUse::kInput;
  edge.project = found->info.project;
  edge.name = found->info.name;
  edge.type = found->info.type;
  edge.number = found->version.number;
  edge.content = found->version.content;
  edge.manifest = found->version.manifest;
  edge.aliases = found->version.aliases;
  edge.use_as = use_as;
  const Code code = log_event(EventType::kArtifact, artifact_event(edge), 0, false);
  if (code != Code::kOk && impl_->plan.options.strict)
    return Status(code, fmt::format("that the run uses {} could not be recorded", edge.version_name()));
  return found;
}

Status Run::wait_artifacts(std::chrono::milliseconds timeout) {
  return impl_->artifacts && !impl_->forked() ? impl_->artifacts->wait_all(timeout) : Status();
}

void Run::set_artifact_pause_for_testing(void (*pause)(), void (*named)()) {
  if (impl_->artifacts) impl_->artifacts->set_pause_for_testing(pause, named);
}

}  // namespace tracker::internal
