// How many nodes: what the site allows, what the record says they gain and how long they wait.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/rules.h"
#include "jobspec/advise/scaling_law.h"

namespace thalweg::jobspec::advise {

std::vector<Finding> advise_nodes(const Study& study) {
  const int cap = study.machines.max_nodes_per_job;
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    Finding finding;
    finding.numbers = {{"nodes", plain(c.resources.nodes)}, {"most a job", plain(cap)}};
    if (c.resources.nodes > cap) {
      finding.verdict = Verdict::warning;
      finding.text = fmt::format(
          "{} nodes are more than the {} a job may have, and larger jobs wait long in the queue",
          c.resources.nodes, cap);
    } else if (c.steps_per_epoch > 0 && c.local_batch() < 1) {
      finding.verdict = Verdict::warning;
      finding.basis = Basis::arithmetic;
      finding.text = fmt::format("{} ranks for a batch of {}: some have no sample", plain(c.ranks),
                                 plain(c.batch));
    } else {
      finding.text = fmt::format("{} of at most {} nodes a job", c.resources.nodes, cap);
    }
    return finding;
  });
}

namespace {

/// Runs that differ in their ranks alone: with this global batch, or with this local one, whichever
/// has more numbers of ranks.
std::vector<PastRun> series_of(const Study& study, const Configuration& c) {
  std::vector<PastRun> strong, weak;
  for (const PastRun& run : runs_like(study, c)) {
    if (run.samples_per_s <= 0) continue;
    if (run.batch == c.batch) strong.push_back(run);
    if (run.batch * c.ranks == c.batch * run.ranks) weak.push_back(run);
  }
  const auto numbers = [](const std::vector<PastRun>& runs) {
    std::set<int> ranks;
    for (const PastRun& run : runs)
      ranks.insert(run.ranks);
    return ranks.size();
  };
  return numbers(weak) > numbers(strong) ? weak : strong;
}

/// "1: 2,001/s, 2: 3,900/s", medians.
std::string measured_text(const std::vector<PastRun>& runs) {
  std::map<int, std::vector<double>> rates;
  for (const PastRun& run : runs)
    rates[run.ranks].push_back(run.samples_per_s);
  std::string text;
  for (const auto& [ranks, of_ranks] : rates)
    text += fmt::format("{}{}: {}/s", text.empty() ? "" : ", ", ranks,
                        plain(std::round(median_of(of_ranks))));
  return text;
}

/// The time that a step does not compute as a share of what it does, of the fewest ranks.
double overhead_of(const std::vector<PastRun>& runs) {
  int fewest = runs.front().ranks;
  for (const PastRun& run : runs)
    fewest = std::min(fewest, run.ranks);
  std::vector<double> overheads;
  for (const PastRun& run : runs)
    if (run.ranks == fewest && run.compute_ms > 0)
      overheads.push_back((run.exposed_ms + run.data_ms) / run.compute_ms);
  return median_of(overheads);
}

/// From how many ranks on others gain little, or how fast so many are, as a fit has it.
void judge(const ScalingLaw& law, const Configuration& c, const std::vector<PastRun>& runs,
           Finding& finding) {
  const std::string measured = measured_text(runs);
  if (law.hardly_gains(c.ranks)) {
    finding.verdict = Verdict::warning;
    finding.text = fmt::format(
        "{} ranks: beyond about {}, another one gains less than half of what it costs, by a fit to "
        "{} runs that differ only in their ranks ({})",
        c.ranks, plain(std::round(law.hardly_gains_from(c.ranks))), runs.size(), measured);
    return;
  }
  finding.text = fmt::format(
      "{} ranks: about {} samples/s by a fit to {} runs that differ only in their ranks ({}), "
      "{:.0f} % of as many single ranks",
      c.ranks, plain(std::round(law.at(c.ranks))), runs.size(), measured,
      100 * law.at(c.ranks) / (c.ranks * law.at(1)));
}

}  // namespace

std::vector<Finding> advise_scaling_limit(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.ranks < 2) return std::nullopt;
    const std::vector<PastRun> runs = series_of(study, c);
    if (runs.empty())
      return Finding{Verdict::unknown,
                     "no earlier run of this model, with this batch or so many samples a rank, "
                     "precision, threads, augmentation and mode, shows what more ranks gain",
                     Basis::measured};
    Finding finding;
    finding.basis = Basis::measured;
    finding.numbers = {{"samples by ranks", measured_text(runs)}};
    std::vector<Speed> speeds;
    for (const PastRun& run : runs)
      speeds.push_back({static_cast<double>(run.ranks), run.samples_per_s});
    if (const auto law = fit_scaling(speeds)) {
      judge(*law, c, runs, finding);
      return finding;
    }
    const double overhead = overhead_of(runs);
    const double efficiency = overhead_efficiency(overhead, c.ranks);
    finding.numbers.emplace_back("overhead of compute", fmt::format("{:.3g}", overhead));
    finding.text = fmt::format(
        "{} ranks: an efficiency of {:.0f} % where each step's overhead is "
        "{:.2g} of its compute",
        c.ranks, 100 * efficiency, overhead);
    if (efficiency < 0.5) finding.verdict = Verdict::warning;
    return finding;
  });
}

std::vector<Finding> advise_queue(const Study& study) {
  if (!study.machines.slurm) return {};
  const auto& waits = study.experience.waits;
  if (waits.empty()) return not_known("no job of this controller has waited in the queue yet");
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    const QueueWait* nearest = nullptr;
    for (const QueueWait& wait : waits)
      if (!nearest ||
          std::abs(wait.nodes - c.resources.nodes) < std::abs(nearest->nodes - c.resources.nodes))
        nearest = &wait;
    Finding finding;
    finding.basis = Basis::measured;
    finding.numbers = {{"nodes", plain(nearest->nodes)},
                       {"jobs", plain(static_cast<double>(nearest->jobs))},
                       {"median wait", seconds_text(nearest->median_s)}};
    finding.text = fmt::format("jobs of {} nodes waited {} (median of {})", nearest->nodes,
                               seconds_text(nearest->median_s), nearest->jobs);
    if (nearest->median_s > static_cast<double>(c.resources.time_limit_s)) {
      finding.verdict = Verdict::advice;
      finding.text += ", longer than a trial may run: fewer nodes may end sooner";
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
