// Boost's distribution takes seconds to compile, so one file includes it.
#include "db/analysis/students_t.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace thalweg::db::analysis {

double students_t_quantile(double p, double freedom) {
  return boost::math::quantile(boost::math::students_t(freedom), p);
}

double students_t_two_sided(double t, double freedom) {
  return 2 *
         boost::math::cdf(boost::math::complement(boost::math::students_t(freedom), std::abs(t)));
}

}  // namespace thalweg::db::analysis
