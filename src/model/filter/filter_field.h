// SPDX-License-Identifier: MIT
// The fields of the filter language by name. Part of the filter parser. Threads: pure functions.
#pragma once

#include <optional>
#include <string>

#include "model/filter/filter_lexer.h"

namespace tracker::internal {

// The field that a word names; none, and the error, when it names none.
std::optional<FilterField> field_of_token(const FilterToken& token, FilterError* error);

}  // namespace tracker::internal
