// Which parameters make the difference: shares of the results' variance (Sobol 1993; Hutter, Hoos
// and Leyton-Brown, ICML 2014, do the same over random forests).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "db/store.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {

/// A configuration's values of the parameters (null: it has none) and its result.
struct Outcome {
  std::vector<jobspec::Value> parameters;
  double value = 0;
};

struct ParameterShare {
  std::string name;
  double main = 0;          ///< of the variance, by this parameter alone
  double total = 0;         ///< with all that it does together with others
  std::int64_t values = 0;  ///< different ones
};

struct PairShare {
  std::string first, second;
  double share = 0;  ///< that the two do together, beyond what each does alone
};

struct Importance {
  std::vector<ParameterShare> parameters;  ///< the largest total first
  std::vector<PairShare> pairs;            ///< the largest first; those of at least 1 %
  double explained =
      0;  ///< share of the variance of outcomes that the model had not seen (5 folds)
};

/// A Gaussian process is fitted to the outcomes, and the variance of its mean is divided where
/// every parameter takes its values independently of the others, as often as they are there. Of
/// more than 150 outcomes evenly spread ones count. Numbers that span more than a factor of 20
/// count by their logarithm. At least 4 outcomes that differ; else nothing. Deterministic.
Importance importance_of(const std::vector<std::string>& names, std::vector<Outcome> outcomes);

struct ImportanceStudy {
  std::int64_t sweep = 0;
  std::string metric;
  std::int64_t configurations = 0;  ///< with a result
  Importance found{};
  std::vector<std::string> notes{};
};

/// Of the ranks of the best values of the metric (empty: the sweep's), each configuration by the
/// median over its seeds.
/// `best_share` of the configurations, the best ones (in ]0, 1]): what matters among the good.
/// Throws std::invalid_argument for a sweep or metric that is not there.
ImportanceStudy study_importance(ReadStore& store, std::int64_t sweep, const std::string& metric,
                                 double best_share = 1);

}  // namespace thalweg::db::analysis
