// Points in time as sbatch's --begin and --deadline take them. Pure but for the time zone.
#pragma once

#include <ctime>
#include <optional>
#include <string>

namespace thalweg::slurm_agent {

/// "now", "now+2hours" (seconds, minutes, hours, days, weeks; none = seconds), "2027-01-31",
/// "2027-01-31T18:00", "2027-01-31T18:00:30", in local time. Unix seconds; nothing where the text
/// is none of them.
std::optional<std::time_t> moment(const std::string& text, std::time_t now);

}  // namespace thalweg::slurm_agent
