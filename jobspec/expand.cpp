// Sweep -> trials.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
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

namespace {

/// Combinations of a sweep become configurations, each once; of a study those of all its parts.
class Expander {
 public:
  explicit Expander(const Sweep& sweep, const Schema& schema, Diagnostics& diagnostics)
      : sweep_(sweep), schema_(schema), paths_(sweep, schema), diagnostics_(diagnostics) {}

  /// In order, without number and seed. Reports what does not fit.
  std::vector<ExpandedTrial> configurations_of(const Sweep& part) {
    std::vector<ExpandedTrial> found;
    ConfigurationCheck check(part, schema_, diagnostics_);
    const auto take = [&](std::int64_t, const Combination& combination) {
      if (is_last(part, static_cast<std::int64_t>(found.size()))) return false;
      check.visit(combination);
      if (!diagnostics_.empty()) return true;  // no more trials, but all the mistakes
      ExpandedTrial trial;
      trial.resources = resolve_resources(part, combination);
      trial.train = resolve_train(part, combination);
      paths_.make_absolute(trial.train);
      set_length(part, static_cast<std::int64_t>(found.size()) + 1, trial.train);
      if (require_any_length(part, schema_, trial.train, diagnostics_)) return true;
      const Hash128 hash = hash_of(trial.train, trial.resources);
      if (!seen_.insert(hash).second) {
        ++expansion.duplicates;
        return true;
      }
      trial.hash = to_hex(hash);
      trial.parameters = parameters_of(part, combination, trial.resources);
      found.push_back(std::move(trial));
      return true;
    };
    try {
      for_each_combination(part, take);
    } catch (const BadConstraint& bad) {
      report_error(bad, diagnostics_);
    }
    return found;
  }

  void add(ExpandedTrial configuration) { add(std::move(configuration), sweep_.seeds); }
  void add(ExpandedTrial configuration, const std::vector<std::uint64_t>& seeds) {
    configuration.configuration = ++configurations;
    for (const std::uint64_t seed : seeds)
      add(seed == seeds.back() ? std::move(configuration) : configuration, seed);
  }
  void add(ExpandedTrial trial, std::uint64_t seed) {
    trial.number = static_cast<std::int64_t>(expansion.trials.size()) + 1;
    trial.seed = seed;
    expansion.trials.push_back(std::move(trial));
  }

  Expansion expansion;
  std::int64_t configurations = 0;

 private:
  const Sweep& sweep_;
  const Schema& schema_;
  const Paths paths_;
  Diagnostics& diagnostics_;
  std::unordered_set<Hash128, TakeFirstWord> seen_;
};

/// Draws by turns, so that at any time the values have had about as many; then the winners, seed by
/// seed, so that more seeds come last. What a winner is will be known later: until then the first
/// draw of its value holds the place.
void expand_study(const Sweep& sweep, Expander& expander) {
  std::vector<std::vector<ExpandedTrial>> draws;
  std::size_t longest = 0;
  for (const Sweep& part : draws_of(sweep)) {
    draws.push_back(expander.configurations_of(part));
    longest = std::max(longest, draws.back().size());
  }
  for (std::size_t i = 0; i < longest; ++i)
    for (const auto& of_value : draws)
      if (i < of_value.size()) expander.add(of_value[i]);
  expander.expansion.draws = static_cast<std::int64_t>(expander.expansion.trials.size());
  for (const std::uint64_t seed : sweep.study->final_seeds) {
    std::int64_t configuration = expander.configurations;
    for (const auto& of_value : draws) {
      ++configuration;
      if (of_value.empty()) continue;
      ExpandedTrial winner = of_value.front();
      winner.configuration = configuration;
      expander.add(std::move(winner), seed);
    }
  }
}

/// The trials before the first look.
void expand_looks(const Sweep& sweep, Expander& expander, Diagnostics& diagnostics) {
  std::vector<ExpandedTrial> configurations = expander.configurations_of(sweep);
  if (!diagnostics.empty()) return;
  if (configurations.size() < 2) {
    const auto place = sweep.places.find("seeds");
    diagnostics.add(place == sweep.places.end() ? Place{} : place->second, "seeds",
                    "found looks and one configuration, expected two that can be compared",
                    "seeds: N runs it N times");
    return;
  }
  const SeedPlan plan =
      seed_plan(*sweep.seed_looks, static_cast<std::int64_t>(configurations.size()));
  std::vector<std::uint64_t> seeds(static_cast<std::size_t>(plan.looks.front()));
  std::iota(seeds.begin(), seeds.end(), 1);
  for (ExpandedTrial& configuration : configurations)
    expander.add(std::move(configuration), seeds);
  expander.expansion.seed_plan = plan;
}

}  // namespace

Expansion expand(const Sweep& sweep, const Schema& engine) {
  const Schema& schema = sweep.program ? open_schema() : engine;
  Diagnostics diagnostics(sweep.file);
  check_size(sweep, diagnostics);
  diagnostics.throw_if_any();
  Expander expander(sweep, schema, diagnostics);
  if (sweep.study)
    expand_study(sweep, expander);
  else if (sweep.seed_looks)
    expand_looks(sweep, expander, diagnostics);
  else
    for (ExpandedTrial& configuration : expander.configurations_of(sweep))
      expander.add(std::move(configuration));
  diagnostics.throw_if_any();
  return std::move(expander.expansion);
}

}  // namespace thalweg::jobspec
