// SPDX-License-Identifier: MIT
// What the parts of doctor share. Private to doctor*.cc.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/doctor.h"
#include "model/records.h"

namespace tracker::internal {

void add_fact(DoctorSection* section, const std::string& key, Value value, std::string text);
void add_fact(DoctorSection* section, const std::string& key, const std::string& text);

struct FoundJournal {
  std::string dir;
  WriterIdentity writer;
};
// Journals of dead processes that belong to another store than the one at `store_path`.
std::vector<FoundJournal> unrecovered_journals(const std::string& store_path);

// Journals of this user on this machine: of living and dead processes, of this store and of others.
void examine_journals(const std::string& store_path, int64_t now_us, DoctorReport* out);

}  // namespace tracker::internal
