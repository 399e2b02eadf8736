// SPDX-License-Identifier: MIT
#include "artifact/reference.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/did_you_mean.h"

namespace tracker::internal {
namespace {

constexpr size_t kDigestDigitsMin = 6, kDigestDigitsMax = 64;

bool is_digest(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() >= kDigestDigitsMin && text.size() <= kDigestDigitsMax &&
         std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

Result<ArtifactName> parse_artifact_name(std::string_view text, std::string_view project) {
  ArtifactName out;
  const size_t slash = text.rfind('/');
  out.project = slash == std::string_view::npos ? project : text.substr(0, slash);
  std::string_view rest = slash == std::string_view::npos ? text : text.substr(slash + 1);
  const size_t mark = rest.find_first_of(":@");
  out.name = rest.substr(0, mark);
  if (mark != std::string_view::npos) {
    out.is_digest = rest[mark] == '@';
    out.version = rest.substr(mark + 1);
  }
  const char* const expected =
      "expected \"name:alias\", \"name:v3\" or \"name@digest\", with \"project/\" in front or not";
  if (out.project.empty() || out.name.empty() || (mark != std::string_view::npos && out.version.empty()))
    return Status(Code::kInvalid, fmt::format("\"{}\" names no artifact", text), expected);
  if (const Status status = check_artifact_name(out.name); !status.ok())
    return Status(status.code(), status.message(), expected);
  if (out.is_digest && !is_digest(out.version))
    return Status(Code::kInvalid, fmt::format("\"{}\" is no digest: expected {} to {} of the digits 0-9 and a-f",
                                              out.version, kDigestDigitsMin, kDigestDigitsMax));
  return out;
}

Result<FoundArtifact> find_artifact(const Store& store, std::string_view text, std::string_view project) {
  const auto name = parse_artifact_name(text, project);
  if (!name.ok()) return name.status();
  const ArtifactRegistry registry(store);
  auto info = registry.read(name->project, name->name);
  if (!info.ok()) {
    if (info.status().code() != Code::kNotFound) return info.status();
    std::vector<std::string> known;
    std::string others;
    for (const ArtifactInfo& each : registry.list("")) {
      if (each.project == name->project) known.push_back(each.name);
      else if (each.name == name->name) others += fmt::format("; there is \"{}/{}\"", each.project, each.name);
    }
    return Status(Code::kNotFound,
                  fmt::format("no artifact \"{}\" in project \"{}\"{}{}", name->name, name->project, others,
                              did_you_mean(name->name, known)),
                  "`tracker artifact ls` lists them");
  }
  const auto version = info->find(name->version, name->is_digest);
  if (!version.ok()) return version.status();
  if (name->is_digest && !(*version)->content.hex().starts_with(name->version))
    return Status(Code::kNotFound,
                  fmt::format("{}/{} has no version with the digest {}", name->project, name->name, name->version));
  FoundArtifact out;
  out.version = **version;
  out.info = std::move(*info);
  return out;
}

}  // namespace tracker::internal
