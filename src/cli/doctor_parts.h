// SPDX-License-Identifier: MIT
// What the parts of doctor share. Private to doctor*.cc.
#pragma once

#include <string>

#include "cli/doctor.h"

namespace tracker::internal {

void add_fact(DoctorSection* section, const std::string& key, Value value, std::string text);
void add_fact(DoctorSection* section, const std::string& key, const std::string& text);

// Journals of this user on this machine: of living and dead processes, of this store and of others.
void examine_journals(const std::string& store_path, int64_t now_us, DoctorReport* out);

}  // namespace tracker::internal
