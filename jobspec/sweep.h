// A sweep file: parsing, checking and expansion into trials. Pure: the same text gives the same
// trials.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobspec/axis.h"
#include "jobspec/constraint.h"
#include "jobspec/early_terminate.h"
#include "jobspec/fwd.h"
#include "jobspec/keep.h"
#include "jobspec/program.h"
#include "jobspec/search/learning.h"
#include "jobspec/search/promotion.h"
#include "jobspec/search/study.h"
#include "jobspec/seed_looks.h"
#include "jobspec/site.h"
#include "jobspec/slurm_block.h"
#include "jobspec/trial.h"

namespace thalweg::jobspec {

struct Limits {
  int max_nodes_per_job =
      64;  ///< the site's cap is already in it; larger jobs wait too long in the queue
  int max_nodes_in_flight = 64;  ///< of all running trials together; at least a trial's nodes
  double node_hours = 0;         ///< budget of the sweep; 0 = none
  double deadline = 0;           ///< Unix seconds when the sweep ends; 0 = none
  int max_retries = 2;           ///< attempts after the first, per trial, when an attempt fails
  std::int64_t max_trials = SiteLimits().max_trials;  ///< the site's; not for the sweep to set
  std::string max_trials_from;                        ///< " (max_trials in FILE)", or nothing
};

/// The first row of search_methods().
const SearchMethod* default_method();

/// The axis takes its values only where the option `on` (an axis or a fixed option of `train`) has
/// one of `values`; elsewhere it is left out.
struct When {
  std::string axis;
  std::string on;
  std::vector<Value> values;
};

struct Sweep {
  std::string file;       ///< its name, for messages
  std::string directory;  ///< set before expand(): what relative paths of `train` count from
  std::string name;
  std::string description;
  /// Sweeps that end before this one starts: names or numbers; numbers once it is submitted.
  std::vector<std::string> after;
  const SearchMethod* method = default_method();
  std::uint64_t seed = 1;  ///< keys the draws of methods that draw or learn
  /// Grid: configurations at most, 0 = all. Methods that draw: draws, for each combination of
  /// values of `each`. Methods that learn: configurations; expand() draws them all, and most are
  /// replaced by others before they run (suggest.h).
  std::int64_t run_cap = 0;
  Metric metric;
  /// What the file says of it; the rest is a default, and the engine knows a better one.
  bool metric_given = false, goal_given = false;
  std::vector<std::uint64_t> seeds{1};
  std::vector<Axis> axes;                     ///< in file order
  std::vector<std::vector<std::string>> zip;  ///< axes that advance together
  std::vector<std::string>
      each;  ///< of methods that draw: every draw of the other axes meets every value of these
  std::vector<When> when;
  std::vector<Constraint> constraints;  ///< combinations that break one do not run
  Value train = Map{};                  ///< of a program of the user's own, its `config`
  std::optional<Program> program;       ///< runs instead of the engine
  Resources resources;
  Limits limits;
  SlurmOptions slurm;
  bool slurm_given = false;  ///< the file has the block
  /// Variables that the file sets (or removes, where there is no value) in its attempts'
  /// environment.
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;
  Keep keep;  ///< of its checkpoints, once it has ended
  std::optional<EarlyTerminate> early_terminate;
  std::optional<Learning> learning;  ///< of methods that learn, and of a study: its stages
  bool clamp = false;                ///< clamp node requests over the cap instead of refusing them
  std::map<std::string, Place> places;  ///< of "metric.name", "resources.memory", "limits.…"
  std::vector<std::string> notes;  ///< what the user should know: clamped, coerced, ignored keys
  std::optional<Promotion> promotion{};  ///< of methods that promote
  std::optional<TuningStudy> study{};
  std::optional<SeedLooks> seed_looks{};  ///< `seeds` are then those before the first look
};

/// A configuration and a seed; `number` counts from 1 in expansion order.
struct ExpandedTrial {
  std::int64_t number = 0;
  std::int64_t configuration = 0;  ///< from 1; trials that differ only by seed share it
  std::uint64_t seed = 1;
  Value parameters = Map{};  ///< dotted axis name -> value, in axis order
  Value train = Map{};
  Resources resources;  ///< axes may vary resources.nodes and so on
  std::string hash;     ///< 32 hex digits over canonical(train, resources); same for every seed
};

struct Expansion {
  std::vector<ExpandedTrial> trials;
  std::int64_t duplicates = 0;  ///< configurations collapsed into an earlier one
  std::int64_t draws = 0;       ///< of a study: trials 1 to this one are draws, the others winners
  /// Where the file has looks at seeds: `trials` are those before the first look.
  std::optional<SeedPlan> seed_plan{};
};

/// Whether this sweep file is for a program of the user's own: what the engine knows does not
/// matter to it, so any Schema will do. False where it is no YAML.
bool runs_program(std::string_view text);

/// Throws InputError with every mistake, those of the resolved configurations included. `file_name`
/// is used in messages only.
Sweep parse_sweep(std::string_view text, const std::string& file_name, const Schema& schema,
                  const SiteLimits& site = {});

/// Deterministic, independent of machine and library version. 100,000 trials in under a second.
/// Grid: axes in file order, the last one fastest; trials of a configuration stand together, in the
/// order of `seeds`. Relative paths become absolute ones in sweep.directory; where that is empty
/// they stay as they are. Throws InputError where a resolved value breaks the schema (an axis over
/// optimizer names whose options clash), or the constraints leave too few combinations.
Expansion expand(const Sweep& sweep, const Schema& schema);

/// ExpandedTrial::hash of this configuration.
std::string configuration_hash(const Value& train, const Resources& resources);

}  // namespace thalweg::jobspec
