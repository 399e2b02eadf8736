// SPDX-License-Identifier: MIT
#include "query/view/attempts_without_data.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/fs.h"
#include "storage/store/attempt_claim.h"

namespace tracker::internal {
namespace {

bool has_writer(const std::vector<WriterSnapshot>& writers, int64_t attempt) {
  return std::any_of(writers.begin(), writers.end(),
                     [attempt](const WriterSnapshot& writer) { return writer.identity.attempt == attempt; });
}

int64_t time_of(const std::string& path, int64_t otherwise) {
  struct stat st{};
  return ::stat(path.c_str(), &st) == 0 ? st.st_mtim.tv_sec * 1'000'000 + st.st_mtim.tv_nsec / 1000 : otherwise;
}

}  // namespace

std::vector<AttemptWithoutData> attempts_without_data(const RunFolder& run,
                                                      const std::vector<WriterSnapshot>& writers) {
  std::vector<AttemptWithoutData> out;
  std::vector<WriterIdentity> makers;
  const auto look = [&](const std::string& path, int64_t attempt, int64_t begun_us) {
    AttemptWithoutData silent{attempt, begun_us, Liveness::kUnknown};
    const auto maker = read_claim_maker(path);
    if (maker) silent.maker = probe_writer(*maker, store_path_of(run.path));
    if (maker) makers.push_back(*maker);
    out.push_back(silent);
  };
  for (const std::string& name : list_dir(run.path).value_or({})) {
    const auto attempt = claimed_attempt(name);
    const std::string path = join_path(run.path, name);
    if (attempt && *attempt > 1 && !has_writer(writers, *attempt)) look(path, *attempt, time_of(path, 0));
  }
  // The process that made the run may have begun a later attempt of it at once, as an elastic restart does: then no
  // process began the first one.
  const std::string document = join_path(run.path, kRunFile);
  const auto maker = has_writer(writers, 1) ? std::nullopt : read_claim_maker(document);
  const bool began_later =
      maker && (std::any_of(writers.begin(), writers.end(),
                            [&](const WriterSnapshot& writer) { return is_same_process(writer.identity, *maker); }) ||
                std::any_of(makers.begin(), makers.end(),
                            [&](const WriterIdentity& other) { return is_same_process(other, *maker); }));
  if (!has_writer(writers, 1) && !began_later) look(document, 1, run.identity.created_us);
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.attempt < b.attempt; });
  return out;
}

bool may_begin(const AttemptWithoutData& silent, int64_t now_us) {
  if (silent.maker == Liveness::kUnknown) return silent.begun_us > now_us - kHeartbeatTrust.count();
  return silent.maker == Liveness::kLive;
}

}  // namespace tracker::internal
