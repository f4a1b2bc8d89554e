// The names that a comparison is asked for, and what was meant where there is no such name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

/// The parameters of one or several sweeps. Reads the database as it is asked; Store must outlive
/// it. What varies in several: what varies in any of them, and what they give different values for.
class ParameterNames {
 public:
  ParameterNames(ReadStore& store, std::vector<std::int64_t> sweeps);

  /// The full names: each may be given as it is, or as the last part of one varied parameter, as
  /// columns are titled ("name" for "optimizer.name"), else of one parameter at all. Throws
  /// std::invalid_argument with what may have been meant.
  std::vector<std::string> all_of(const std::vector<std::string>& names) const;

  bool varies(const std::string& name) const;
  /// The varied parameters without these, in the order of the file.
  std::vector<std::string> varied_but(const std::vector<std::string>& names) const;

 private:
  std::string full(const std::string& name) const;
  std::string suggestion(const std::string& name, const std::vector<std::string>& all) const;
  bool has(const std::string& name) const;

  ReadStore& store_;
  std::vector<std::int64_t> sweeps_;
  std::vector<std::string> varied_;
};

/// For a study that needs to know what is compared: "sweep 12 varies a and b:
/// --by a". Throws std::invalid_argument.
[[noreturn]] void by_is_missing(ReadStore& store, const std::vector<std::int64_t>& sweeps);

/// "sweep 12", "sweeps 12, 13".
std::string sweeps_text(const std::vector<std::int64_t>& sweeps);

/// Throws std::invalid_argument where no trial of any of them has reported it.
void check_metric(ReadStore& store, const std::vector<std::int64_t>& sweeps,
                  const std::string& metric);

/// A line for each metric of the sweeps: "val/error: smaller is better".
std::vector<std::string> which_is_better(ReadStore& store, const std::vector<std::int64_t>& sweeps);

}  // namespace thalweg::db::analysis
