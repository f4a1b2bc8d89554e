/// Student's t distribution.
#pragma once

namespace thalweg::db::analysis {

/// The value below which the share `p` in (0, 1) lies, with `freedom` > 0 degrees of freedom.
double students_t_quantile(double p, double freedom);

/// How likely |T| is at least |t|.
double students_t_two_sided(double t, double freedom);

}  // namespace thalweg::db::analysis
