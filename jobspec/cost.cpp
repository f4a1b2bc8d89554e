// The bound is over time limits: nobody knows before how long trials take.
#include "jobspec/cost.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "jobspec/resources.h"

namespace thalweg::jobspec {
namespace {

/// "24 trials x 2 nodes x 00:30:00", as far as all have the same.
std::string product(const Expansion& expansion) {
  const Resources& first = expansion.trials.front().resources;
  const auto all = [&](const auto& same) {
    return std::all_of(expansion.trials.begin(), expansion.trials.end(), same);
  };
  const bool nodes = all([&](const auto& t) { return t.resources.nodes == first.nodes; });
  const bool time =
      all([&](const auto& t) { return t.resources.time_limit_s == first.time_limit_s; });
  const auto trials = static_cast<std::int64_t>(expansion.trials.size());
  return fmt::format(
      "{} x {} x {}",
      count_of(expansion.seed_plan ? expansion.seed_plan->max_trials() : trials, "trial"),
      nodes ? count_of(first.nodes, "node") : "their nodes",
      time ? format_time(first.time_limit_s) : "their time limits");
}

}  // namespace

double max_node_hours(const Expansion& expansion) {
  double seconds = 0;
  for (const ExpandedTrial& trial : expansion.trials)
    seconds += static_cast<double>(trial.resources.nodes) *
               static_cast<double>(trial.resources.time_limit_s);
  // All configurations have as many seeds before the first look, and at most as many at the last.
  if (const auto& plan = expansion.seed_plan)
    seconds *= static_cast<double>(plan->max_trials()) / static_cast<double>(plan->min_trials());
  return seconds / 3600;
}

std::string describe_cost(const Sweep& sweep, const Expansion& expansion, const Prices& prices) {
  if (expansion.trials.empty()) return "";
  const double hours = max_node_hours(expansion), limit = sweep.limits.node_hours;
  const std::string number = fmt::format("{:.4g}", hours);
  std::string text = fmt::format("at most {} {} ({})", number,
                                 number == "1" ? "node-hour" : "node-hours", product(expansion));
  if (const auto price = prices.of(sweep.slurm.option("partition")))
    text += ", " + prices.amount(hours * *price);
  if (sweep.limits.max_retries > 0)
    text += fmt::format("; a trial that fails is tried again up to {}",
                        count_of(sweep.limits.max_retries, "time"));
  if (limit > 0)
    text += fmt::format("; limits.node_hours: {:.4g} {}", limit,
                        hours > limit ? "may end the sweep before all trials are done"
                                      : "is enough for each of them once");
  return text;
}

}  // namespace thalweg::jobspec
