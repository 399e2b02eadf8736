// SPDX-License-Identifier: MIT
// What a run makes and uses: log_artifact() and use_artifact().
#include <fmt/format.h>

#include "artifact/reference.h"
#include "base/write_signals.h"
#include "run/run_impl.h"

namespace tracker::internal {

void Run::start_artifacts() {
  RunArtifacts::Target target;
  target.store_path = impl_->launch.store_path;
  target.run = impl_->launch.run;
  target.max_disk = impl_->launch.max_disk;
  // The queue of large values, because it never waits.
  target.note = [writer = impl_->writer](const Value& event) {
    return writer->push_large(EventType::kArtifact, encode_cbor(event), 0, false);
  };
  target.flush = [writer = impl_->writer](std::chrono::milliseconds timeout) { return writer->flush(timeout); };
  impl_->artifacts = std::make_shared<RunArtifacts>(std::move(target));
}

Result<std::shared_ptr<LoggedArtifact>> Run::log_artifact(ArtifactDraft draft, LogArtifactOptions options) {
  TRACKER_RETURN_IF_ERROR(check_log_artifact(options));
  const auto out = std::make_shared<LoggedArtifact>(project(), std::move(draft), std::move(options));
  out->max_disk = impl_->launch.max_disk;
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
  if (!status.ok() && impl_->launch.options.strict) return status;
  return out;
}

Result<FoundArtifact> Run::use_artifact(std::string_view text, std::string_view use_as) {
  const NoWriteSignals guard;
  const auto name = parse_artifact_name(text, project());
  if (!name.ok()) return name.status();
  const bool records = impl_->artifacts != nullptr && !impl_->forked();
  // A failure of the one that waits is its own; then there is an older one, or none.
  if (records) (void)impl_->artifacts->wait_for(name->project, name->name, kFinishArtifactsMax);
  const auto store = Store::open(store_path());
  if (!store.ok()) return store.status();
  auto found = find_artifact(*store, text, project());
  if (!found.ok() || !records) return found;
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
  if (code != Code::kOk && impl_->launch.options.strict)
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
