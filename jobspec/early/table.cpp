#include <cmath>
#include <limits>

#include "jobspec/early/rule.h"

namespace thalweg::jobspec {

// One row per rule: each is defined in the .cpp of its name.
#define THALWEG_EARLY_RULES(ROW) ROW(hyperband) ROW(median)

namespace early {
#define THALWEG_DECLARE(name) EarlyRule name();
THALWEG_EARLY_RULES(THALWEG_DECLARE)
#undef THALWEG_DECLARE
}  // namespace early

const Table<EarlyRule>& early_rules() {
#define THALWEG_CALL(name) early::name(),
  static const Table<EarlyRule> table("rule", {THALWEG_EARLY_RULES(THALWEG_CALL)});
#undef THALWEG_CALL
  return table;
}

const EarlyRule& rule_of(const EarlyTerminate& rule) {
  return rule.type ? early_rules().at(*rule.type, "early_terminate.type") : early_rules().front();
}

EndedEarly ended_early(const EarlyTerminate& rule, const Metric& metric,
                       const TrialHistories& trials) {
  return rule_of(rule).ended(rule, metric, trials);
}

double sign_of(const Metric& metric) {
  return metric.goal == Goal::maximize ? -1 : 1;
}

double oriented(double value, double sign) {
  return std::isfinite(value) ? sign * value : std::numeric_limits<double>::infinity();
}

}  // namespace thalweg::jobspec
