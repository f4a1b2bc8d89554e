#include "jobspec/time_warning.h"

#include <fmt/format.h>

#include <algorithm>

#include "jobspec/slurm_block.h"

namespace thalweg::jobspec {

std::int64_t slurm_warning_s(std::int64_t limit_s, std::int64_t wanted_s) {
  constexpr std::int64_t max_s = 65535;  // Slurm keeps 16 bits
  constexpr std::int64_t minute_s = 60;
  const std::int64_t minutes = std::max<std::int64_t>(1, (limit_s + minute_s - 1) / minute_s);
  const std::int64_t half = (minutes - 1) * minute_s / 2;
  return std::clamp<std::int64_t>(std::min(wanted_s, half), 0, max_s);
}

std::int64_t local_warning_s(std::int64_t limit_s, std::int64_t wanted_s) {
  return std::min(wanted_s, limit_s / 2);
}

std::string no_warning_note(std::int64_t limit_s) {
  const std::int64_t usual_s = SlurmOptions().signal_before_end_s;
  if (slurm_warning_s(limit_s, usual_s) > 0) return "";
  return fmt::format(
      "a Slurm job of {} s is not told before it ends, since Slurm may do so a minute early: what "
      "it did after its last checkpoint is lost (00:03:00 leaves it {} s)",
      limit_s, usual_s);
}

}  // namespace thalweg::jobspec
