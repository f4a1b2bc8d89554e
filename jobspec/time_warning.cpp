#include "jobspec/time_warning.h"

#include <algorithm>

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t minute_s = 60;

}  // namespace

std::int64_t warning_s(std::int64_t limit_s, std::int64_t wanted_s) {
  return std::clamp<std::int64_t>(wanted_s, 0, limit_s / 2);
}

std::int64_t slurm_limit_s(std::int64_t limit_s) {
  return std::max<std::int64_t>(1, (limit_s + minute_s - 1) / minute_s) * minute_s;
}

bool slurm_warns_in_time(std::int64_t slurm_limit_s, std::int64_t warning_s) {
  constexpr std::int64_t max_s = 65535;  // Slurm keeps 16 bits
  return warning_s <= max_s && 2 * warning_s <= slurm_limit_s - minute_s;
}

}  // namespace thalweg::jobspec
