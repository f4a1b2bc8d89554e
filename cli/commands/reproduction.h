// A trial trained again on this machine, and compared with its record while it runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/capsule.h"

namespace thalweg::cli {

/// The first point that is not the same. `here` is nothing where the run here did not report it.
struct PointDifference {
  std::int64_t step = 0;
  std::string metric;
  double recorded = 0;
  std::optional<double> here;
};

/// Recorded points against those of another run, as they come. Two values are the same where their
/// bits are, or where both are NaN. Points that the record lacks say nothing, nor do recorded ones
/// of an earlier end that do not come.
class PointCheck {
 public:
  explicit PointCheck(const Capsule& capsule);

  void take(const std::string& metric, std::int64_t step, double value);
  /// All that the run reports has come: recorded points that did not come differ.
  void end();

  std::int64_t recorded() const { return recorded_; }
  /// With the same bits, before the difference.
  std::int64_t equal() const { return equal_; }
  std::int64_t last_step() const { return last_step_; }  ///< of the recorded points
  /// The one with the smallest step.
  const std::optional<PointDifference>& difference() const { return difference_; }

 private:
  void differs(const PointDifference& difference);

  std::map<std::pair<std::string, std::int64_t>, double> open_;  ///< not yet seen
  std::set<std::int64_t> earlier_ends_;
  std::int64_t recorded_ = 0, equal_ = 0, last_step_ = 0;
  std::optional<PointDifference> difference_;
};

/// What is not as it was: "oneDNN", "2.6.3", "3.1".
struct ChangedFact {
  std::string what, recorded, here;

  static void each_field(auto& self, auto&& field) {
    field("what", self.what);
    field("recorded", self.recorded);
    field("here", self.here);
  }
};
/// Of two start records: what is known to decide bits. Ranks and threads do not, but where
/// something differs they are suspects as well.
std::vector<ChangedFact> changed_facts(const nlohmann::json& recorded, const nlohmann::json& here);

struct Reproduction {
  std::string id;
  int ranks = 1;
  std::int64_t points = 0, equal = 0;  ///< recorded ones, and those that came with the same bits
  std::int64_t last_step = 0;
  std::optional<PointDifference> difference;
  std::optional<std::int64_t> weights_step;  ///< whose weights were compared; nothing: none
  std::int64_t arrays = 0;
  std::optional<std::string> array;  ///< the first that differs
  std::vector<ChangedFact> changed;
  std::string failure;  ///< why the run here ended before it had reported everything

  bool reproduced() const { return failure.empty() && !difference && !array; }
};

struct ReproductionOptions {
  int ranks = 0;                 ///< 0 = as recorded
  std::filesystem::path folder;  ///< for the run's files
  std::function<bool()> interrupted;
  std::function<void(std::int64_t step, std::int64_t equal)> progress;
};

/// Trains until every recorded point was seen, or one differs. Throws CommandError where it cannot
/// start; where `interrupted` becomes true the run is stopped and CommandError thrown.
Reproduction reproduce_trial(const Capsule& capsule, const ReproductionOptions& options);

}  // namespace thalweg::cli
