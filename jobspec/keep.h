// What stays of a sweep's checkpoints once it has ended: `keep` of a sweep file, whose defaults
// are those of config.yaml.
#pragma once

#include <cstdint>
#include <string>

#include "jobspec/enum_names.h"
#include "jobspec/fwd.h"

namespace thalweg::jobspec {

class Diagnostics;

/// Of one trial: everything; the newest and that of the best validation; only the latter (the
/// newest where none is marked); nothing.
enum class KeepCheckpoints : std::uint8_t { all, last, best, none };

template <>
struct EnumNames<KeepCheckpoints> {
  static constexpr std::string_view what = "choice of checkpoints";
  static constexpr std::array<std::string_view, 4> names = {"all", "last", "best", "none"};
};

struct Keep {
  KeepCheckpoints checkpoints = KeepCheckpoints::all;
  /// Only the best so many of the finished trials keep them, the others none; 0 = all of them do.
  std::int64_t trials = 0;
  /// Of each curve about so many points, but every one of validation and of the sweep's metric; 0 =
  /// all. For a sweep to set, at least min_points.
  std::int64_t points = 0;

  static constexpr std::int64_t min_points = 10;
  bool everything() const { return all_checkpoints() && points == 0; }
  bool all_checkpoints() const { return checkpoints == KeepCheckpoints::all && trials == 0; }
  bool operator==(const Keep&) const = default;
};

/// `checkpoints`, `trials` or `points`. What is wrong is a diagnostic at `path` and changes
/// nothing.
void read_keep_key(const std::string& key, const Value& value, const std::string& path, Keep& keep,
                   Diagnostics& diagnostics);
Value write_keep(const Keep& keep);
/// "of the 3 best trials the best checkpoint, of other finished trials none"; "of each curve about
/// 1000 points"; both; empty where everything stays.
std::string describe(const Keep& keep);

}  // namespace thalweg::jobspec
