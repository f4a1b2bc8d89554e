// What all methods that learn have in common: which results count as what, and which of their
// proposals can run. What none of them thinks of is drawn, so that nothing runs twice while other
// configurations are left.
#include "jobspec/suggest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/combine.h"
#include "jobspec/hash.h"
#include "jobspec/parse.h"
#include "jobspec/paths.h"
#include "jobspec/schema.h"
#include "jobspec/search/generations.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec {
namespace {

/// Draws, or listed combinations, that are looked through where every proposal is there already.
constexpr std::int64_t last_resort = 10'000;

using State = Observed::State;

/// The value that counts of a trial, if it has it; nothing: the worst result of all.
std::optional<double> counting(const Observed& each, const Metric& metric) {
  const Impute impute = each.state == State::ended     ? Impute::best
                        : each.state == State::running ? *metric.impute_while_running
                                                       : metric.impute;
  const std::optional<double>& value = impute == Impute::latest ? each.latest : each.value;
  if (impute == Impute::worst || !value || !std::isfinite(*value)) return std::nullopt;
  return metric.goal == Goal::maximize ? -*value : *value;
}

/// Smaller is better from here on; what has no value that counts gets the worst one. Trials that
/// run stay so where nothing is to stand for their result.
void orient(std::vector<Observed>& observed, const Metric& metric) {
  std::optional<double> worst;
  const auto expected = [&](const Observed& each) {
    if (each.state != State::running) return false;
    return !metric.impute_while_running ||
           (*metric.impute_while_running != Impute::worst && !counting(each, metric));
  };
  for (Observed& each : observed) {
    if (expected(each)) continue;
    each.value = counting(each, metric);
    if (each.value && each.state == State::ended)
      worst = std::max(worst.value_or(*each.value), *each.value);
    if (each.state == State::running) each.state = State::failed;
  }
  for (Observed& each : observed)
    if (!each.value && each.state != State::running) each.value = worst;
}

/// Where the caller does not know: equal parameters are seeds of one configuration.
void count_configurations(std::vector<Observed>& observed) {
  std::map<std::string, std::int64_t> numbers;
  for (Observed& each : observed) {
    const auto next = static_cast<std::int64_t>(numbers.size()) + 1;
    const std::int64_t number = numbers.emplace(each.parameters.canonical(), next).first->second;
    if (each.configuration == 0) each.configuration = number;
  }
}

/// Splits off those that are still running.
std::vector<Observed> take_running(std::vector<Observed>& observed) {
  std::vector<Observed> running;
  std::erase_if(observed, [&](const Observed& each) {
    const bool runs = each.state == State::running;
    if (runs) running.push_back(each);
    return runs || !each.value;
  });
  return running;
}

bool fits(const Sweep& sweep, const Schema& schema, const Combination& combination) {
  Diagnostics diagnostics(sweep.file);
  ConfigurationCheck check(sweep, schema, diagnostics);
  check.visit(combination);
  return diagnostics.empty();
}

/// How the configuration that is chosen is trained.
struct Training {
  std::int64_t configuration = 0;
  std::optional<Id> from{};  ///< the trial that it goes on from
};

ExpandedTrial resolved(const Sweep& sweep, const Paths& paths, const Combination& combination,
                       const Training& training) {
  ExpandedTrial trial;
  trial.resources = resolve_resources(sweep, combination);
  trial.train = resolve_train(sweep, combination);
  paths.make_absolute(trial.train);
  set_length(sweep, training.configuration, trial.train);
  if (training.from) continue_from(trial.train, *training.from);
  trial.hash = configuration_hash(trial.train, trial.resources);
  Map parameters;
  for (std::size_t i = 0; i < combination.size(); ++i)
    if (combination[i]) parameters.emplace_back(sweep.axes[i].name, *combination[i]);
  trial.parameters = std::move(parameters);
  return trial;
}

/// Whether a grid could go through all values.
bool listable(const Sweep& sweep) {
  return std::all_of(sweep.axes.begin(), sweep.axes.end(),
                     [](const Axis& axis) { return axis.distribution->grid().has_value(); });
}

/// Takes the first proposal that can run and is not there yet; the first that can run, if all are.
class Picker {
 public:
  Picker(const Sweep& sweep, const Schema& schema, const std::set<std::string>& taken,
         Training training)
      : sweep_(sweep),
        schema_(schema),
        taken_(taken),
        training_(std::move(training)),
        paths_(sweep, schema) {}

  /// Whether more are needed.
  bool offer(const Chosen& values, const std::string& reason) {
    const Combination combination = combination_of(values);
    ExpandedTrial trial = resolved(sweep_, paths_, combination, training_);
    const bool there = taken_.count(trial.hash) > 0;
    if ((there && repeated_) || !fits(sweep_, schema_, combination)) return true;
    (there ? repeated_ : found_) = Suggestion{std::move(trial), reason};
    return !found_;
  }
  /// What no proposal was: other draws, and where values have an end all of them.
  void look_further(std::uint64_t seed) {
    const std::string reason = "drawn, since every candidate looked at has run already";
    draw_others(sweep_, seed, last_resort / 10,
                [&](const Chosen& values) { return offer(values, reason); });
    if (found_ || !listable(sweep_)) return;
    visit_listed(sweep_, [&](std::int64_t index, const Combination& combination) {
      return offer(chosen(combination), reason) && index < last_resort;
    });
  }
  std::optional<Suggestion> result() { return found_ ? std::move(found_) : std::move(repeated_); }
  bool done() const { return found_.has_value(); }

 private:
  const Sweep& sweep_;
  const Schema& schema_;
  const std::set<std::string>& taken_;
  const Training training_;
  const Paths paths_;
  std::optional<Suggestion> found_, repeated_;
};

}  // namespace

std::optional<Suggestion> suggest(const Sweep& sweep, const Schema& engine,
                                  std::vector<Observed> observed,
                                  const std::set<std::string>& taken, std::int64_t configuration,
                                  std::int64_t id) {
  const Schema& schema = sweep.program ? open_schema() : engine;
  const SearchMethod& method = *sweep.method;
  count_configurations(observed);
  orient(observed, sweep.metric);
  std::vector<Observed> running = take_running(observed);
  if (observed.empty()) return std::nullopt;
  SearchSpace space(sweep);
  // A seed is an int64.
  const std::uint64_t seed =
      hash128(fmt::format("{} {} {}", method.name, sweep.seed, configuration))[0] >> 1;
  const History history{sweep, space, std::move(observed), std::move(running), configuration, seed};
  Training training{configuration};
  // Such a method has one trial of each configuration.
  if (const std::int64_t parent = method.parent ? method.parent(history) : 0; parent > 0)
    training.from = Id{id, parent, 0};
  Picker picker(sweep, schema, taken, training);
  method.propose(history, [&](const Chosen& values, const std::string& reason) {
    return picker.offer(values, reason);
  });
  try {
    if (!picker.done()) picker.look_further(seed);
  } catch (const BadConstraint&) {
    // A repetition has to do.
  }
  return picker.result();
}

}  // namespace thalweg::jobspec
