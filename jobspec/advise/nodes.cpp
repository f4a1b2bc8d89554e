// How many nodes: what the site allows, what the record says they gain and how long they wait.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/rules.h"

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

/// Samples per second, and the time that a step does not compute as a share of what it does, by
/// ranks; medians over the runs of a device.
struct Scaling {
  double samples_per_s = 0, overhead = 0;
};

std::map<int, Scaling> scaling_of(const std::vector<PastRun>& runs) {
  std::map<int, std::vector<double>> rates, overheads;
  for (const PastRun& run : runs) {
    rates[run.ranks].push_back(run.samples_per_s);
    if (run.compute_ms > 0)
      overheads[run.ranks].push_back((run.exposed_ms + run.data_ms) / run.compute_ms);
  }
  std::map<int, Scaling> scaling;
  for (const auto& [ranks, values] : rates)
    scaling[ranks] = {median_of(values), median_of(overheads[ranks])};
  std::erase_if(scaling, [](const auto& entry) { return entry.second.samples_per_s <= 0; });
  return scaling;
}

/// A measured number of ranks from which on more gain less than half of what they cost; 0: none.
int stops_at(const std::map<int, Scaling>& scaling) {
  std::vector<Speed> speeds;
  for (const auto& [ranks, of] : scaling)
    speeds.push_back({static_cast<double>(ranks), of.samples_per_s});
  const std::size_t end = worth_up_to(speeds);
  return end == speeds.size() ? 0 : static_cast<int>(speeds[end].ranks);
}

}  // namespace

std::vector<Finding> advise_scaling_limit(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.ranks < 2) return std::nullopt;
    const auto scaling = scaling_of(runs_like(study, c));
    if (scaling.empty())
      return Finding{Verdict::unknown, "no earlier run of this model tells what more ranks gain",
                     Basis::measured};
    Finding finding;
    finding.basis = Basis::measured;
    std::string measured;
    for (const auto& [ranks, of] : scaling)
      measured += fmt::format("{}{}: {}/s", measured.empty() ? "" : ", ", ranks,
                              plain(std::round(of.samples_per_s)));
    finding.numbers = {{"samples by ranks", measured}};
    const int end = stops_at(scaling);
    if (end > 0 && c.ranks > end) {
      finding.verdict = Verdict::warning;
      finding.text = fmt::format(
          "{} ranks: from {} on more of them gained less than half of what they cost ({})", c.ranks,
          end, measured);
      return finding;
    }
    const double overhead = scaling.begin()->second.overhead;
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
