// A tuning protocol: every value of one parameter gets the same number of quasirandom draws from
// its own search space; when all draws have ended, the best of each value runs with fresh seeds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/axis.h"
#include "jobspec/fwd.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

struct Parsing;
struct Metric;
struct Observed;

/// One value of the compared parameter, and what is drawn for it.
struct Arm {
  Value value;
  std::vector<Axis> axes;  ///< in the order of Sweep::axes; of the compared parameter this value
};

struct TuningStudy {
  std::string compare;                     ///< name of an axis
  std::int64_t budget = 0;                 ///< draws of each value
  std::string spaces;                      ///< a set of published_spaces(); empty: none
  std::vector<std::uint64_t> final_seeds;  ///< that no draw uses
  std::vector<Arm> arms;
};

/// What the record's readers need to know of a sweep file: nothing where it is of another method.
/// Of a file that was accepted.
struct StudySeeds {
  std::string compare;
  std::vector<std::uint64_t> final_seeds;
  /// Whether a trial with this seed evaluates a winner, rather than being a draw.
  bool is_final(std::uint64_t seed) const;
};
std::optional<StudySeeds> study_seeds(const Value& file);

/// Of `study`, for the JSON Schema and `extend`.
std::vector<Option> study_options();
/// The block `study` (may be nullptr), after everything that says which parameters vary. Adds the
/// parameters of published spaces to sweep.axes. What is wrong is a diagnostic.
void parse_study(const Value* block, Parsing& parsing);
/// For each value a sweep of its own that draws its configurations. Of a sweep with a study.
std::vector<Sweep> draws_of(const Sweep& sweep);
/// "3 values of optimizer.name with 8 draws each: 24 trials; ..."
std::string describe(const TuningStudy& study, std::size_t seeds);

struct BestDraw {
  std::int64_t configuration = 0;
  std::string reason;  ///< for people
};
/// Of the draws of one value, which have all ended: the configuration with the best mean over its
/// seeds of the metric's best value, the first of equal ones. A seed that failed or has no finite
/// value is worse than any. Nothing where no configuration has a value with every seed. Pure.
std::optional<BestDraw> best_draw(const std::vector<Observed>& draws, const Metric& metric);

}  // namespace thalweg::jobspec
