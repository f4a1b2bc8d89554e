// How large the batch should be: of all ranks together, and of each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "jobspec/advise/formulas.h"
#include "jobspec/advise/rules.h"

namespace thalweg::jobspec::advise {
std::vector<Finding> advise_global_batch(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.batch <= 0 || c.samples <= 0) return std::nullopt;
    const std::int64_t limit = usual_batch_limit(c.samples);
    Finding finding;
    finding.numbers = {{"batch", plain(c.batch)},
                       {"samples", plain(c.samples)},
                       {"root of samples", plain(static_cast<double>(limit))}};
    if (c.batch <= static_cast<double>(limit)) {
      finding.text = fmt::format("batch {} is at most √samples = {}", plain(c.batch),
                                 plain(static_cast<double>(limit)));
    } else {
      finding.verdict = Verdict::advice;
      finding.text = fmt::format(
          "batch {} is above √samples = {}, where most trainings stay; larger ones pay only up to "
          "the critical batch",
          plain(c.batch), plain(static_cast<double>(limit)));
    }
    return finding;
  });
}

namespace {

/// Why there is no noise scale, or nothing where runs have one.
std::optional<Finding> no_noise_scale(const std::vector<PastRun>& runs,
                                      const std::vector<double>& scales) {
  if (!scales.empty()) return std::nullopt;
  const bool short_ones =
      std::any_of(runs.begin(), runs.end(), [](const PastRun& run) { return run.noise_unsettled; });
  return Finding{Verdict::unknown,
                 short_ones
                     ? "earlier runs measured the noise scale (noise/b_simple), but were too short "
                       "for it to settle: 3 / (1 - noise.beta) measurements"
                     : "no earlier run has measured the noise scale (noise/b_simple) of this model "
                       "on these data",
                 Basis::measured};
}

std::string around(const Interval& scale) {
  if (!(scale.low > 0)) return "in one run, which says nothing about chance";
  return fmt::format("95 % interval {} to {}", plain(std::round(scale.low)),
                     plain(std::round(scale.high)));
}

}  // namespace

std::vector<Finding> advise_critical_batch(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.batch <= 0) return std::nullopt;
    // Of gradients, not of speed: neither batch nor device changes it.
    const auto runs = runs_like(study, c, &Configuration::learns_like);
    std::vector<double> scales;
    for (const PastRun& run : runs)
      if (run.noise_scale > 0) scales.push_back(run.noise_scale);
    if (auto nothing = no_noise_scale(runs, scales)) return nothing;
    const Interval scale = geometric_mean(scales);
    const double middle = scale.middle;
    Finding finding;
    finding.basis = Basis::measured;
    finding.numbers = {
        {"batch", plain(c.batch)},
        {"noise scale", plain(std::round(middle))},
        {"of runs", plain(static_cast<double>(scales.size()))},
        {"steps, of the fewest", fmt::format("{:.3g}", relative_steps(c.batch, middle))},
        {"samples, of the fewest", fmt::format("{:.3g}", relative_samples(c.batch, middle))}};
    finding.text = fmt::format(
        "batch {} needs {:.2g} times the fewest steps and {:.2g} times the fewest samples, at a "
        "noise scale of {} ({})",
        plain(c.batch), relative_steps(c.batch, middle), relative_samples(c.batch, middle),
        plain(std::round(middle)), around(scale));
    constexpr double far = 4;
    if (c.batch > far * scale.high) {
      finding.verdict = Verdict::warning;
      finding.text += ": far above it, more nodes for a larger batch buy hardly any time";
    } else if (c.batch < scale.low / far) {
      finding.verdict = Verdict::advice;
      finding.text += ": far below it, a larger batch on more nodes is nearly free";
    }
    return finding;
  });
}

namespace {

/// Speeds of a rank by its batch, of runs that differ in it alone: on as many ranks, or else on the
/// number of ranks that has most batches.
std::vector<Throughput> throughputs(const Study& study, const Configuration& c) {
  std::map<int, std::vector<Throughput>> by_ranks;
  std::map<int, std::set<double>> batches;
  for (const PastRun& run : runs_like(study, c)) {
    by_ranks[run.ranks].push_back({run.batch / run.ranks, run.samples_per_s / run.ranks});
    batches[run.ranks].insert(run.batch);
  }
  if (batches[c.ranks].size() > 1) return by_ranks[c.ranks];
  const auto most = std::max_element(
      batches.begin(), batches.end(),
      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return by_ranks[most->first];
}

}  // namespace

std::vector<Finding> advise_local_batch(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.batch <= 0) return std::nullopt;
    const double knee = throughput_knee(throughputs(study, c));
    if (knee <= 0)
      return Finding{Verdict::unknown,
                     "no earlier runs of this model that differ in their local batch alone show "
                     "where its throughput levels off: batch.per_rank: {values: [8, 32, 128]}",
                     Basis::measured};
    const std::string from = plain(std::ceil(knee));  // ranks need not divide a batch
    Finding finding;
    finding.basis = Basis::measured;
    finding.numbers = {{"local batch", plain(c.local_batch())},
                       {"90 % of the best throughput from", from}};
    if (c.local_batch() < knee) {
      finding.verdict = c.ranks > 1 ? Verdict::warning : Verdict::advice;
      finding.text = fmt::format(
          "{} samples a rank are too few to keep it busy: earlier runs had 90 % of the best "
          "throughput only from {} on",
          plain(c.local_batch()), from);
    } else {
      finding.text = fmt::format("{} samples a rank keep it busy (90 % of the best from {} on)",
                                 plain(c.local_batch()), from);
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
