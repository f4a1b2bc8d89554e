// What a sweep file says for a method that learns from results, under the key of the method's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "jobspec/fwd.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {

struct Parsing;
class Fields;

/// The first configurations are drawn; each other one is chosen when one of its trials could start,
/// by the results that there are then.
struct Learning {
  std::int64_t initial = 10;  ///< configurations that are drawn
  std::int64_t parallel = 4;  ///< nothing is chosen while so many trials run or wait in the queue
  std::int64_t seeds = 1;     ///< trials of each configuration
  std::string method = "bayes";  ///< its row's name, which records of earlier versions do not tell
  Map options{};                 ///< of the method's own, complete; not recorded
  std::optional<std::int64_t> generation{};  ///< configurations of one, where it has them

  static void each_field(auto& e, auto&& field) {
    field("initial", e.initial);
    field("parallel", e.parallel);
    field("seeds", e.seeds);
    field("generation", e.generation);
  }
  /// Trials 1 to this one are drawn.
  std::int64_t drawn_trials() const { return initial * seeds; }
};

/// Whether nothing is chosen before all draws have ended: then everything at once, for a study.
bool waits_for_draws(const Learning& learning);
/// The options that every learning method has, before its own. Defaults as in Learning.
std::vector<Option> learning_options();
/// The block of sweep.method (may be nullptr), which learns, after everything that it depends on.
/// What is wrong is a diagnostic.
Learning parse_learning(const Value* value, Parsing& parsing);
/// "the first 10 of 50 configurations are drawn, the others chosen by results ..."
std::string describe(const Learning& learning, std::int64_t run_cap);
/// The method that a sweep file (as read_yaml() has it) names, if it learns from results; else
/// nullptr.
const SearchMethod* learning_method(const Value& file);
/// How many configurations are a generation of its method, where it has generations: by the file,
/// or the default.
std::optional<std::int64_t> generation_size(const Value& file);
/// Whether its method pauses trials at rungs, for which it takes one seed of each configuration.
bool promotes(const Value& file);

}  // namespace thalweg::jobspec
