// What the sweep as a whole needs: repetitions, and checkpoints often enough.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/rules.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec::advise {

namespace {

/// Of a file with looks at seeds; the trials before the first tell how many configurations there
/// are.
std::vector<Finding> advise_looks(const SeedLooks& looks, std::int64_t trials) {
  SeedPlan plan = seed_plan(looks, 2);
  while (plan.min_trials() < trials)
    plan = seed_plan(looks, plan.rows + 1);
  const int needed = seeds_for_verdict(plan.rows, static_cast<std::int64_t>(plan.looks.size()));
  Finding finding;
  finding.basis = Basis::arithmetic;
  finding.numbers = {{"configurations", plain(static_cast<double>(plan.rows))},
                     {"seeds at most", plain(static_cast<double>(plan.looks.back()))},
                     {"seeds for any verdict", plain(needed)}};
  if (needed > plan.looks.back()) finding.verdict = Verdict::advice;
  finding.text = describe(plan);
  return {finding};
}

}  // namespace

std::vector<Finding> advise_seeds(const Study& study) {
  std::size_t trials = 0;
  for (const Configuration& c : study.configurations)
    trials += c.trials.size();
  if (study.sweep.seed_looks)
    return advise_looks(*study.sweep.seed_looks, static_cast<std::int64_t>(trials));
  // Of a tuning study the winners are compared, on their final seeds.
  const auto& tuned = study.sweep.study;
  const std::size_t seeds =
      tuned ? tuned->final_seeds.size() : std::max<std::size_t>(1, study.sweep.seeds.size());
  const auto rows = static_cast<std::int64_t>(tuned ? tuned->arms.size() : trials / seeds);
  if (rows < 2) return {};
  const int needed = seeds_for_verdict(rows);
  Finding finding;
  finding.basis = Basis::arithmetic;
  finding.numbers = {{"configurations", plain(static_cast<double>(rows))},
                     {"seeds", plain(static_cast<double>(seeds))},
                     {"seeds for any verdict", plain(needed)}};
  if (seeds == 1) {
    finding.verdict = Verdict::advice;
    finding.text = fmt::format(
        "single runs: what sets them apart may be the seed. seeds: {} lets a test tell any two of "
        "{} configurations apart; fewer do for groups (compare --by)",
        needed, rows);
  } else if (static_cast<int>(seeds) < needed) {
    finding.verdict = Verdict::advice;
    finding.text = fmt::format(
        "{} seeds are too few to tell any two of {} configurations apart ({} are enough); compare "
        "--by groups of them",
        seeds, rows, needed);
  } else {
    finding.text =
        fmt::format("{} seeds are enough to tell any two of {} configurations apart", seeds, rows);
  }
  return {finding};
}

namespace {

/// Where no failure was seen, with 95 % confidence the mean time is above a third of what ran
/// (the rule of three).
constexpr double rule_of_three = 3;

/// Seconds between two checkpoints as the file has it; 0: not known.
double configured_interval(const Configuration& c, double samples_per_s) {
  if (const double s = c.number("checkpoint.every_seconds"); s > 0) return s;
  if (samples_per_s <= 0 || c.batch <= 0) return 0;
  const double step_s = c.batch / samples_per_s;
  if (const double n = c.number("checkpoint.every_steps"); n > 0) return n * step_s;
  if (const double n = c.number("checkpoint.every_samples"); n > 0) return n / samples_per_s;
  if (const double n = c.number("checkpoint.every_epochs"); n > 0)
    return n * c.steps_per_epoch * step_s;
  if (const double n = c.number("checkpoint.every"); n > 0) return n * step_s;
  return c.text("checkpoint.every") == "auto" ? c.steps_per_epoch * step_s : 0;
}

}  // namespace

std::vector<Finding> advise_checkpoints(const Study& study) {
  const std::int64_t lost = study.experience.lost_nodes;
  const double divisor = lost > 0 ? static_cast<double>(lost) : rule_of_three;
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    // What a checkpoint takes is up to the model; how long its steps are to all that makes speed.
    const double cost =
        median_of(runs_like(study, c, &Configuration::is_like), &PastRun::checkpoint_s);
    auto alike = runs_like(study, c);
    std::erase_if(alike,
                  [&](const PastRun& run) { return run.ranks != c.ranks || run.batch != c.batch; });
    const double rate = median_of(alike, &PastRun::samples_per_s);
    if (c.batch <= 0) return std::nullopt;
    if (cost <= 0 || study.experience.node_seconds <= 0)
      return Finding{Verdict::unknown,
                     "no earlier run shows how long a checkpoint of this model takes",
                     Basis::measured};
    const double failures_s = study.experience.node_seconds / divisor / c.resources.nodes;
    const double best = checkpoint_interval(cost, failures_s);
    const double now = configured_interval(c, rate);
    Finding finding;
    finding.basis = Basis::measured;
    finding.numbers = {
        {"a checkpoint", fmt::format("{:.3g} s", cost)},
        {"between failures", (lost > 0 ? "" : "at least ") + seconds_text(failures_s)},
        {"best interval", seconds_text(best)}};
    if (now > 0) finding.numbers.emplace_back("interval now", seconds_text(now));
    constexpr double far = 4;
    if (lost == 0) {
      finding.text = fmt::format(
          "no attempt has lost a node in {} of nodes' time: a checkpoint "
          "every {}, or less often",
          seconds_text(study.experience.node_seconds), seconds_text(best));
      return finding;
    }
    finding.text = fmt::format("a checkpoint every {} loses least", seconds_text(best));
    if (c.text("checkpoint.every_seconds") == "auto") {
      finding.text += ", and checkpoint.every_seconds: auto keeps to it";
      return finding;
    }
    if (now > far * best) {
      finding.verdict = Verdict::advice;
      finding.text +=
          fmt::format("; now it is one in {}: checkpoint.every_seconds: auto", seconds_text(now));
    } else if (now > 0 && now < best / far && cost > 0.05 * now) {
      finding.verdict = Verdict::advice;
      finding.text += fmt::format("; now they are {} apart and take {:.0f} % of the time",
                                  seconds_text(now), 100 * cost / now);
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
