// The concerns of parse_sweep, one .cpp each. Mistakes go to `diagnostics`; what is wrong keeps its
// default.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "jobspec/reader.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec {

inline constexpr std::int64_t kMaxSeeds = 10'000;  ///< of a configuration

struct Parsing {
  const Schema& schema;
  const SiteLimits& site;
  Diagnostics& diagnostics;
  Sweep& sweep;
  std::set<std::string>
      broken_axes;  ///< parameters with a diagnostic: missing in sweep.axes, but meant

  bool own = false;             ///< a program of the user's own runs
  bool method_unknown = false;  ///< neither grid nor random is asked of the parameters then

  /// What the user should know, with its place.
  void note(Place place, std::string key, std::string message, std::string hint = {});
};

/// `parameters`: fills sweep.axes. `train`: as in the file, or nullptr.
void parse_parameters(const Value& value, const Value* train, Parsing& parsing);
/// What is right as it stands, and yet hardly meant; after everything else.
void add_advice(Parsing& parsing);
/// Whether a list of reals was written with decimal commas: [0,001, 0,01], which YAML reads as four
/// whole numbers.
bool decimal_commas(const std::vector<Value>& values);
/// Whether the file runs a program of the user's own: `program` or `command`, and no `train`.
bool runs_program(const Value& file);
/// `zip`, `each`, `when` and `constraint`, after the parameters.
void parse_zip(const Value& value, Parsing& parsing);
void parse_each(const Value& value, Parsing& parsing);
void parse_when(const Value& value, Parsing& parsing);
/// Reports conditions of `when` that never hold.
void check_conditions(Parsing& parsing);
void parse_constraint(const Value& value, Parsing& parsing);
void parse_limits(const Value& value, Parsing& parsing);
/// `slurm`; after the resources, which it must not contradict.
void parse_slurm(const Value& value, Parsing& parsing);
/// `env`: fills sweep.environment.
void parse_environment(const Value& value, Parsing& parsing);
/// Keys at the top that begin with "x-", where files keep what their aliases copy; what has an
/// anchor and another unknown name is a mistake that says so.
void pass_over_anchors(std::string_view text, const Value& file, Fields& top, Parsing& parsing);
/// `keep`, or nullptr where the file has none: fills sweep.keep.
void parse_keep(const Value* value, Parsing& parsing);
/// The signal before the end must come after the start.
void check_signal(const Value* slurm, Parsing& parsing);
/// Trials that share jobs take one node each and fit into a job's time.
void check_pack(const Value* slurm, const Value* limits, Parsing& parsing);
/// The node cap over resources and axes; `resources` and `limits` as in the file, or nullptr.
void check_nodes(const Value* resources, const Value* limits, Parsing& parsing);

const Axis* find_axis(const Sweep& sweep, std::string_view name);
std::vector<std::string> axis_names(const Sweep& sweep);

/// "resources.nodes" -> "nodes"; empty where the axis is not over resources.
std::string resource_key(const std::string& axis);
/// Puts a checked value of a resources axis in.
void set_resource(Resources& resources, std::string_view key, const Value& value);

}  // namespace thalweg::jobspec
