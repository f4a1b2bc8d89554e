// What a look found is an event: a controller that starts anew never decides a second time, from
// other values.
#include "daemon/state/seed_looks.h"

#include <fmt/format.h>

#include "base/text.h"

namespace thalweg::daemon {

namespace {

std::int64_t looks_of(const jobspec::SeedPlan& plan) {
  return static_cast<std::int64_t>(plan.looks.size());
}

}  // namespace

std::optional<std::int64_t> due_look(const SweepState& sweep) {
  const bool ends = sweep.phase != SweepPhase::active || sweep.cancel || !sweep.stopped.empty();
  if (!sweep.seed_plan || ends || sweep.open > 0 || !sweep.looks_over.empty()) return {};
  return sweep.looks_taken + 1;
}

std::int64_t max_trials(const SweepState& sweep) {
  const auto there = static_cast<std::int64_t>(sweep.trials.size());
  if (!sweep.seed_plan || !sweep.looks_over.empty() || sweep.phase != SweepPhase::active)
    return there;
  const auto& looks = sweep.seed_plan->looks;
  const std::int64_t open =
      sweep.seed_plan->rows - static_cast<std::int64_t>(sweep.closed_rows.size());
  return there + open * (looks.back() - looks[static_cast<std::size_t>(sweep.looks_taken)]);
}

std::vector<std::string> describe_looks(const SweepState& sweep) {
  if (!sweep.seed_plan) return {};
  const jobspec::SeedPlan& plan = *sweep.seed_plan;
  const auto closed = static_cast<std::int64_t>(sweep.closed_rows.size());
  std::string text =
      fmt::format("{} of {} taken", sweep.looks_taken, count_of(looks_of(plan), "look"));
  if (closed > 0) text += fmt::format(", {} of {} configurations closed", closed, plan.rows);
  if (!sweep.looks_over.empty())
    text += "; no look follows: " + sweep.looks_over;
  else if (sweep.phase != SweepPhase::active)
    text += "; the sweep ended before the next";
  else
    text += fmt::format("; the next when all have {} seeds; {} at most",
                        plan.looks[static_cast<std::size_t>(sweep.looks_taken)],
                        count_of(max_trials(sweep), "trial"));
  std::vector<std::string> sentences{text};
  for (const auto& [configuration, reason] : sweep.closed_rows)
    sentences.push_back(reason);
  return sentences;
}

}  // namespace thalweg::daemon
