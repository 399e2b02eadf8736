// SPDX-License-Identifier: MIT
// Goal: no bytes in the files of a repository, in ignore rules, in a package's metadata or in a cgroup's files crash
// the thread that reads them, and nothing but UTF-8 gets into a run's environment. Method: the first byte chooses which
// file the rest is; git's index may name files that are there.
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/fs.h"
#include "model/key.h"
#include "model/records.h"
#include "monitor/host/host.h"
#include "monitor/host/utf8_text.h"
#include "monitor/source/git.h"
#include "monitor/source/ignore_rules.h"
#include "monitor/source/python_packages.h"
#include "scratch.h"

using namespace tracker::internal;

namespace {

constexpr const char* kGitFiles[] = {"HEAD", "config", "packed-refs", "index", "commondir", "refs/heads/main"};

// A repository with one file, on a branch.
void make_repository(const Scratch& scratch) {
  if (!make_dirs(scratch.file("work/.git/refs/heads")).ok() || !make_dirs(scratch.file("site/a-1.dist-info")).ok() ||
      !make_dirs(scratch.file("cgroup/a")).ok())
    std::abort();
  scratch.write("work/train.py", "print(1)\n");
  for (const char* name : kGitFiles) remove_file(scratch.file("work/.git/" + std::string(name)));
  scratch.write("work/.git/HEAD", "ref: refs/heads/main\n");
}

void look_at_git(const Scratch& scratch, std::string_view name, std::string_view bytes) {
  make_repository(scratch);
  scratch.write("work/.git/" + std::string(name), bytes);
  uint64_t redacted = 0;
  const Value facts = git_facts(scratch.file("work"), &redacted);
  if (!from_json(to_json(facts)).ok()) std::abort();
  for (const char* key : {"branch", "remote", "root"})
    if (!is_utf8(facts.text_or(key, ""))) std::abort();
}

void look_at_rules(std::string_view text) {
  const size_t half = text.size() / 2;
  IgnoreRules rules;
  rules.add(text.substr(0, half), "");
  rules.add(text.substr(half), "src/");
  for (const std::string_view path : {"train.py", "src/a/b/c.log", "build/x", "a.b.c.d.e"})
    for (const bool folder : {false, true}) (void)rules.ignores(path, folder);
  (void)matches_name(text.substr(0, half), text.substr(half));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Scratch scratch;
  if (size == 0) return 0;
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const uint8_t kind = data[0] % 10;
  if (kind < 6) {
    look_at_git(scratch, kGitFiles[kind], input);
  } else if (kind == 6) {
    look_at_rules(input);
  } else if (kind == 7) {
    make_repository(scratch);
    scratch.write("site/a-1.dist-info/METADATA", input);
    size_t left_out = 0;
    const Value packages = python_packages({scratch.file("site")}, &left_out);
    if (packages.as_map() == nullptr) std::abort();
    for (const auto& [name, version] : *packages.as_map())
      if (!is_utf8(name) || version.as_text() == nullptr || !is_utf8(*version.as_text())) std::abort();
  } else if (kind == 8) {
    make_repository(scratch);
    for (const char* name : {"cpu.max", "memory.max", "cpuset.cpus.effective"})
      scratch.write("cgroup/a/" + std::string(name), input);
    const Value limits = container_limits(scratch.file("cgroup"), "0::/a\n");
    (void)container_limits(scratch.file("cgroup"), std::string(input));
    if (!is_utf8(limits.text_or("cpuset", ""))) std::abort();
  } else {
    (void)pid_start_of(input);
    (void)is_zombie(input);
    const std::string text = as_utf8(input);
    if (!is_utf8(text) || as_utf8(text) != text || cut_utf8(text, 5).size() > 5 + std::string_view("…").size())
      std::abort();
  }
  return 0;
}
