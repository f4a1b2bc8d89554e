// The long options of sbatch, one row each: what a sweep file may say about it, and what its value
// looks like. The `slurm` block, the #SBATCH lines, the request to Slurm and the documentation all
// come from here; how libslurm is told stands where libslurm is (daemon/slurm_agent/options.cpp),
// under the same names. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/fwd.h"

namespace thalweg::jobspec {

enum class SlurmUse {
  key,     ///< `slurm: {partition: …}`, and in slurm.sbatch
  sbatch,  ///< in slurm.sbatch only
  ours,    ///< Thalweg sets it; `doc` says from what
  refused  ///< not to be set; `doc` says why
};

enum class SlurmType {
  text,
  flag,     ///< given or not; no value, or one of `words`
  count,    ///< a whole number, `min` to `max`
  memory,   ///< "4096M" in canonical form
  minutes,  ///< a time, whole minutes in canonical form
  moment,   ///< now, now+2hours, 2027-01-31T18:00
  words     ///< one or several of `words`, with commas
};

struct SlurmOption {
  std::string_view name;  ///< without its dashes
  SlurmUse use = SlurmUse::sbatch;
  SlurmType type = SlurmType::text;
  std::string_view doc;
  std::int64_t min = 1, max = 65533;  ///< Slurm keeps most counts in 16 bits, with marks at the end
  std::vector<std::string> words{};

  bool free() const { return use == SlurmUse::key || use == SlurmUse::sbatch; }
};

/// Every long option of sbatch 22.05 to 26.05.
const std::vector<SlurmOption>& slurm_options();
/// nullptr where there is none.
const SlurmOption* find_slurm_option(std::string_view name);

/// What is asked of Slurm: name and value, as sbatch would take them; a flag's value is empty.
using SlurmRequest = std::map<std::string, std::string>;

/// The value in canonical form, as sbatch takes it; nothing where it does not fit. A flag that is
/// false gives nothing and fits: see `is_off`.
std::optional<std::string> slurm_value(const SlurmOption& option, const Value& value);
bool is_off(const SlurmOption& option, const Value& value);
/// What would be right, in words: "a whole number from 1 to 65533".
std::string expected_of(const SlurmOption& option);

/// Why an option that is not free cannot be given.
std::string refusal_of(const SlurmOption& option);

/// "--mail-type=END", quoted where sbatch needs it in a #SBATCH line; "--contiguous" for a flag.
std::string sbatch_argument(const std::string& name, const std::string& value);

}  // namespace thalweg::jobspec
