// SPDX-License-Identifier: MIT
// Reads the options of the C ABI: NULL is an empty text, and 0 the default of the run.
#include <algorithm>
#include <string>

#include "capi/capi_run.h"
#include "run/run.h"

namespace tracker::internal {
namespace {

std::string text_of(const char* text) { return text == nullptr ? std::string() : std::string(text); }

}  // namespace

InitOptions capi_options(const trk_init_options& in) {
  InitOptions out;
  out.project = text_of(in.project);
  out.name = text_of(in.name);
  out.id = text_of(in.id);
  out.group = text_of(in.group);
  out.job_type = text_of(in.job_type);
  out.notes = text_of(in.notes);
  for (size_t i = 0; in.tags != nullptr && i < in.tag_count; ++i) out.tags.push_back(text_of(in.tags[i]));
  out.dir = text_of(in.dir);
  out.mode = text_of(in.mode);
  out.resume = text_of(in.resume);
  out.ranks = text_of(in.ranks);
  out.journal = text_of(in.journal);
  out.on_full = text_of(in.on_full);
  out.resume_from = text_of(in.resume_from);
  out.duplicate_policy = text_of(in.duplicate_policy);
  out.max_disk = text_of(in.max_disk);
  out.capture = text_of(in.capture);
  out.tensorboard = text_of(in.tensorboard);
  out.on_sigterm = text_of(in.on_sigterm);
  out.on_exit = text_of(in.on_exit);
  out.host = text_of(in.host);
  out.token = text_of(in.token);
  if (in.system_interval != 0) out.system_interval = std::max(in.system_interval, 0.0);
  out.rank = in.rank == 0 && in.world_size <= 0 ? -1 : in.rank;  // of a zeroed struct
  if (in.world_size > 0) out.world_size = in.world_size;
  out.strict = in.strict != 0;
  out.quiet = in.quiet != 0;
  return out;
}

}  // namespace tracker::internal
