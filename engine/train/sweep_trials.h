// The trials of a sweep file that is to be checked: the engine's one door to sweeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/train/check_sweep.h"
#include "jobspec/metrics.h"
#include "jobspec/paths.h"
#include "jobspec/sweep.h"

namespace thalweg::engine {

struct SweepTrials {
  jobspec::Sweep sweep;
  std::vector<jobspec::ExpandedTrial> trials;
  int ranks = 0;  ///< the most of any trial of the sweep; 0 = not known
};

/// The trials of a sweep file, or that of a trial file; of options.trial alone where it is set.
/// Throws jobspec::InputError.
SweepTrials expand_file(const SweepCheckOptions& options, const jobspec::Schema& schema);

/// Trials of one shape.
struct ShapeGroup {
  CheckedShape shape;
  /// Which stand for it: the first, and of each axis of real numbers those with the smallest and
  /// the largest: what is wrong with a number is wrong at one of its ends.
  std::vector<std::size_t> samples;
};

/// In the order of their first trials. A million trials in a second or so.
std::vector<ShapeGroup> group_shapes(const SweepTrials& trials, const jobspec::Schema& schema);

/// Which trials have a mistake.
struct Affected {
  std::vector<std::int64_t> trials;  ///< numbers, ascending
  bool at_least = false;
};

/// Collects mistakes with their places in the file.
class SweepMistakes {
 public:
  explicit SweepMistakes(const SweepTrials& trials) : trials_(trials) {}

  /// A mistake in `train`.
  void add(const jobspec::ExpandedTrial& trial, const Affected& affected, const CheckError& error);
  /// A mistake in another block.
  void add(const Affected& affected, const std::string& key, std::string message, std::string hint);
  /// In the order of the file; each says which trials have it where not all have.
  std::vector<PlacedError> finish();

 private:
  void add(PlacedError error);

  const SweepTrials& trials_;
  std::vector<PlacedError> errors_;
  std::unordered_map<std::string, std::size_t> index_;
};

}  // namespace thalweg::engine
