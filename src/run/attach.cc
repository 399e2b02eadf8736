// SPDX-License-Identifier: MIT
// Run::attach(): what makes an inherited run record in a forked child.
//
// The Run stays the object that it is, and so does its HotRun, whose page the kernel has zeroed: a holder of
// either (a handle, a Python object) goes on with it. All else of the parent's is left as it is, for its locks may be
// held by threads that do not exist here.
#include "base/write_signals.h"
#include "journal/ring/wipe_memory.h"
#include "run/exit_hook.h"
#include "run/run_impl.h"

namespace tracker::internal {
namespace {

// A further writer of the same run, attempt and rank.
InitOptions options_to_attach(const InitPlan& parent) {
  InitOptions out;
  out.project = parent.run.project;
  out.id = parent.run.id;
  out.dir = parent.store_path;
  out.mode = parent.mode;
  out.host = parent.options.host;
  out.token = parent.options.token;
  out.resume = "allow";
  out.ranks = parent.options.ranks;
  out.journal = parent.options.journal;
  out.on_full = parent.options.on_full;
  out.on_sigterm = parent.options.on_sigterm;
  out.on_exit = parent.options.on_exit;
  out.max_disk = parent.options.max_disk;
  out.strict = parent.options.strict;
  out.quiet = true;
  out.rank = parent.rank.rank;
  if (parent.rank.size_known) out.world_size = std::max(parent.rank.world_size, parent.rank.rank + 1);
  out.attach_attempt = parent.attempt;
  return out;
}

}  // namespace

Status Run::attach() {
  if (!impl_->forked())
    return Status(Code::kInvalid, "attach() is for a forked child; this process records the run already");
  if (!impl_->writer || impl_->observed())
    return Status(Code::kInvalid, "attach(): the parent process does not record this run", impl_->plan.why_not);
  if (waits_for_run())
    return Status(Code::kInvalid, "attach(): the parent process still waits for the run of rank 0",
                  "a child that is forked later attaches; the same TRACKER_RUN_ID on all ranks needs no wait");
  const NoWriteSignals guard;
  InitOptions options = options_to_attach(impl_->plan);
  if (const AwaitedRun::Found* found = impl_->awaited()) {
    options.id = found->joined.run.id;
    options.attach_attempt = found->joined.attempt;
  }
  auto decided = plan_init(options);
  if (!decided.ok()) return decided.status();
  auto own = std::make_unique<Impl>(std::move(*decided));
  if (!impl_->plan.options.name.empty()) own->name = impl_->plan.options.name;
  std::swap(own, impl_);
  revive_hot_run(hot_, impl_->plan.step_base);
  if (Status status = start(); !status.ok()) {  // without a journal; it is inert as before
    hot_->alive = 0;
    std::swap(own, impl_);
    (void)own.release();
    return status;
  }
  (void)own.release();  // the parent's threads and locks
  tracker::internal::finish_at_exit(shared_from_this());
  return {};
}

}  // namespace tracker::internal
