// Times as people and programs write them.
#pragma once

#include <optional>
#include <string_view>

namespace thalweg {

/// Unix seconds of a time in ISO 8601's extended form or in one near it: a date; a "T" or blanks; a
/// time of day to the minute, the second or a fraction of it; and a UTC offset (Z, UTC, GMT, +01,
/// +0100, +01:00, also after blanks). Without an offset the time is taken to be UTC. Nothing where
/// anything is left over, does not exist (2026-02-30) or is before 1970.
std::optional<double> read_time(std::string_view text);

/// The same, but without an offset the time is this machine's local time.
std::optional<double> read_local_time(std::string_view text);

}  // namespace thalweg
