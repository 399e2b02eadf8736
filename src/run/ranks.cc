// SPDX-License-Identifier: MIT
#include "run/ranks.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>

namespace tracker::internal {
namespace {

std::optional<int> number(const char* text) {
  if (text == nullptr || *text == 0) return std::nullopt;
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 10);
  if (errno != 0 || *end != 0 || value < 0 || value > 100'000'000) return std::nullopt;
  return static_cast<int>(value);
}

struct Launcher {
  const char* rank;
  const char* size;
  bool size_must_exceed_one;  // set for single processes too (SLURM inside a plain allocation, RANK=0 left in an image)
};
// The first that says something counts (docs/environment.md). PMIX_RANK comes without a size.
constexpr Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", true},           {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", true},
    {"PMI_RANK", "PMI_SIZE", true},         {"PMIX_RANK", "PMIX_SIZE", false},
    {"SLURM_PROCID", "SLURM_NTASKS", true}, {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", true},
};

RankInfo make(int rank, std::optional<int> known_size, std::string source) {
  RankInfo info;
  info.rank = rank;
  info.world_size = known_size.value_or(rank == 0 ? 1 : 0);
  info.size_known = known_size.has_value();
  info.is_first = rank == 0;
  info.source = std::move(source);
  info.folder = fmt::format("rank-{}", rank);
  info.why = info.world_size > 1 ? fmt::format("rank {} of {} (from {})", rank, info.world_size, info.source)
                                 : fmt::format("rank {} (from {})", rank, info.source);
  return info;
}

bool is_set(const char* text) { return text != nullptr && *text != 0; }

// What is wrong with the variables of a launcher that says "a job of several", or nothing.
std::string complaint(const Launcher& launcher, const GetEnv& env) {
  const char* rank = env(launcher.rank);
  const char* size = env(launcher.size);
  if (is_set(rank) && !number(rank) && (number(size).value_or(0) > 1 || !launcher.size_must_exceed_one))
    return fmt::format("{} is '{}', which is no number from 0{}", launcher.rank, rank,
                       is_set(size) ? fmt::format(" ({} is {})", launcher.size, size) : "");
  if (number(rank).value_or(0) > 0 && is_set(size) && !number(size))
    return fmt::format("{} is '{}', which is no number from 0 ({} is {})", launcher.size, size, launcher.rank, rank);
  return "";
}

// What the launchers' variables say. `ignored`: those that make no sense.
RankInfo rank_of_launcher(const GetEnv& env, std::string* ignored) {
  for (const Launcher& launcher : kLaunchers) {
    if (ignored->empty()) *ignored = complaint(launcher, env);
    const std::optional<int> rank = number(env(launcher.rank));
    if (!rank) continue;
    const std::optional<int> size = number(env(launcher.size));
    if (launcher.size_must_exceed_one && size.value_or(1) <= 1) continue;
    return make(*rank, size, launcher.rank);
  }
  for (const char* name : {"LOCAL_RANK", "NODE_RANK", "GROUP_RANK"}) {
    const std::optional<int> rank = number(env(name));
    if (!rank || *rank == 0) continue;
    // A local or node rank says only that this is not the first process; which one it is stays unknown.
    RankInfo info;
    info.rank = -1;
    info.world_size = 0;
    info.size_known = false;
    info.is_first = false;
    info.source = name;
    info.why = fmt::format("not rank 0 ({}={})", name, *rank);
    info.folder = fmt::format("{}-{}", name, *rank);
    return info;
  }
  return RankInfo{};
}

}  // namespace

bool has_sign_of_ranks(const RankRequest& request, const GetEnv& env) {
  if (request.torch_rank >= 0) return true;
  for (const char* name : {"RANK", "LOCAL_RANK", "NODE_RANK", "GROUP_RANK", "MASTER_ADDR"})
    if (is_set(env(name))) return true;
  for (const Launcher& launcher : kLaunchers)  // those that a job of one process has too say nothing there
    if (number(env(launcher.rank)) && (!launcher.size_must_exceed_one || number(env(launcher.size)).value_or(1) > 1))
      return true;
  return false;
}

std::string RankInfo::gated_line() const {
  if (is_first) return "";
  return why + (is_numbered() ? " records nothing; ranks=\"all\" or TRACKER_RANK=0 changes that"
                              : " records nothing; TRACKER_RANK=0 changes that");
}

Result<RankInfo> resolve_rank(const RankRequest& request, const GetEnv& env) {
  if (request.rank < -1) return Status(Code::kInvalid, fmt::format("rank={}: expected a number from 0", request.rank));
  if (request.rank >= 0) {
    std::optional<int> size = number(env("WORLD_SIZE"));
    if (request.world_size > 0) size = request.world_size;
    if (size && request.rank >= *size)
      return Status(Code::kInvalid, fmt::format("rank={} is not below world_size={}", request.rank, *size));
    return make(request.rank, size, "argument");
  }
  if (const char* text = env("TRACKER_RANK"); text != nullptr && *text != 0) {
    const std::optional<int> rank = number(text);
    if (!rank) return Status(Code::kInvalid, fmt::format("TRACKER_RANK is '{}': expected a number from 0", text));
    const std::optional<int> size = number(env("WORLD_SIZE"));
    if (size && *rank >= *size)
      return Status(Code::kInvalid,
                    fmt::format("TRACKER_RANK is {}: expected a number below WORLD_SIZE={}", *rank, *size));
    return make(*rank, size, "TRACKER_RANK");
  }
  if (request.child_of_run && has_sign_of_ranks(request, env)) {
    RankInfo info = make(0, 1, "multiprocessing");
    info.is_first = false;
    info.why = "a multiprocessing child of a process that has a run";
    return info;
  }
  if (request.torch_rank >= 0)
    return make(request.torch_rank, std::max(request.torch_world_size, 1), "torch.distributed");
  std::string ignored;
  RankInfo info = rank_of_launcher(env, &ignored);
  if (!ignored.empty())
    info.warning = fmt::format("{}; it is ignored, and this process is taken for {}; set it, or TRACKER_RANK", ignored,
                               info.source.empty() ? "the only one, which records a run of its own" : info.why);
  return info;
}

std::optional<std::string> launch_key(const GetEnv& env, const std::string& launcher) {
  const auto text = [&env](const char* name) {
    const char* value = env(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string elastic = text("TORCHELASTIC_RUN_ID");
  if (!elastic.empty() && elastic != "none") return "torchelastic/" + elastic;
  const std::string job = text("SLURM_JOB_ID");
  if (!job.empty() && number(env("SLURM_PROCID")) && number(env("SLURM_NTASKS")).value_or(1) > 1)
    return fmt::format("slurm/{}/{}", job, text("SLURM_STEP_ID"));
  const std::optional<int> local = number(env("LOCAL_WORLD_SIZE"));
  const std::optional<int> world = number(env("WORLD_SIZE"));
  if (local && world && *local == *world && !launcher.empty()) return "launcher/" + launcher;
  return std::nullopt;
}

std::optional<std::string> launch_claim(const GetEnv& env, const RankInfo& rank, const std::string& place) {
  const char* address = env("MASTER_ADDR");
  const char* port = env("MASTER_PORT");
  if (!is_set(address) || !is_set(port) || !rank.is_numbered() || !rank.size_known || rank.world_size < 2)
    return std::nullopt;
  std::string claim = fmt::format("claim/{}/{}/{}", address, port, rank.world_size);
  const std::string_view name = address;
  const bool is_loopback = name == "localhost" || name.starts_with("localhost.") || name.starts_with("127.") ||
                           name == "::1" || name == "0.0.0.0" || name == "::";
  if (!is_loopback) return claim;
  return place.empty() ? std::nullopt : std::optional(claim + "/" + place);
}

int restart_count(const GetEnv& env) { return number(env("TORCHELASTIC_RESTART_COUNT")).value_or(0); }

}  // namespace tracker::internal
