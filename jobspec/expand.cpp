// Sweep -> trials.
#include <fmt/format.h>

#include <unordered_set>

#include "jobspec/combine.h"
#include "jobspec/hash.h"
#include "jobspec/parse.h"
#include "jobspec/paths.h"
#include "jobspec/resources.h"
#include "jobspec/run_length.h"
#include "jobspec/search/generations.h"
#include "jobspec/search/search.h"

namespace thalweg::jobspec {
namespace {

struct TakeFirstWord {
  std::size_t operator()(const Hash128& hash) const { return static_cast<std::size_t>(hash[0]); }
};

Value parameters_of(const Sweep& sweep, const Combination& combination,
                    const Resources& resources) {
  Map map;
  map.reserve(combination.size());
  for (std::size_t i = 0; i < combination.size(); ++i) {
    if (!combination[i]) continue;
    const std::string& name = sweep.axes[i].name;
    // The one value that clamping may have changed.
    map.emplace_back(name, name == "resources.nodes" ? Value(resources.nodes) : *combination[i]);
  }
  return map;
}

/// Where trials go on from others, each one's length differs: a learning rate that depends on it
/// would jump. True: there is a mistake.
bool require_any_length(const Sweep& sweep, const Schema& schema, const Value& train,
                        Diagnostics& diagnostics) {
  if (!sweep.learning || !sweep.learning->generation) return false;
  const std::string what = depends_on_run_length(schema, train);
  if (what.empty()) return false;
  diagnostics.add(
      {}, "train." + what.substr(0, what.find(':')),
      fmt::format("found {}, expected what does not depend on a trial's length with {}", what,
                  in_words(*sweep.method)),
      "say how long it takes (decay_epochs), or leave it out: the search changes the rate");
  return true;
}

Hash128 hash_of(const Value& train, const Resources& resources) {
  std::string text = "{\"resources\":";
  text += write_resources(resources).canonical();
  text += ",\"train\":";
  text += train.canonical();
  text += '}';
  return hash128(text);
}

}  // namespace

std::string configuration_hash(const Value& train, const Resources& resources) {
  return to_hex(hash_of(train, resources));
}

Expansion expand(const Sweep& sweep, const Schema& engine) {
  const Schema& schema = sweep.program ? open_schema() : engine;
  Diagnostics diagnostics(sweep.file);
  check_size(sweep, diagnostics);
  diagnostics.throw_if_any();
  ConfigurationCheck check(sweep, schema, diagnostics);
  const Paths paths(sweep, schema);
  Expansion expansion;
  std::unordered_set<Hash128, TakeFirstWord> seen;
  std::int64_t configuration = 0;
  const auto take = [&](std::int64_t, const Combination& combination) {
    if (is_last(sweep, configuration)) return false;
    check.visit(combination);
    if (!diagnostics.empty()) return true;  // no more trials, but all the mistakes
    ExpandedTrial trial;
    trial.resources = resolve_resources(sweep, combination);
    trial.train = resolve_train(sweep, combination);
    paths.make_absolute(trial.train);
    set_length(sweep, configuration + 1, trial.train);
    if (require_any_length(sweep, schema, trial.train, diagnostics)) return true;
    const Hash128 hash = hash_of(trial.train, trial.resources);
    if (!seen.insert(hash).second) {
      ++expansion.duplicates;
      return true;
    }
    trial.configuration = ++configuration;
    trial.hash = to_hex(hash);
    trial.parameters = parameters_of(sweep, combination, trial.resources);
    for (const std::uint64_t seed : sweep.seeds) {
      trial.number = static_cast<std::int64_t>(expansion.trials.size()) + 1;
      trial.seed = seed;
      expansion.trials.push_back(&seed == &sweep.seeds.back() ? std::move(trial) : trial);
    }
    return true;
  };
  try {
    for_each_combination(sweep, take);
  } catch (const BadConstraint& bad) {
    report_error(bad, diagnostics);
  }
  diagnostics.throw_if_any();
  return expansion;
}

}  // namespace thalweg::jobspec
