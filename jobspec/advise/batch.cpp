// How large the batch should be: of all ranks together, and of each.
#include <fmt/format.h>

#include <cmath>

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

std::vector<Finding> advise_critical_batch(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.batch <= 0) return std::nullopt;
    const double scale = median_of(runs_like(study, c, true), &PastRun::noise_scale);
    if (scale <= 0)
      return Finding{Verdict::unknown,
                     "no earlier run has measured the noise scale (noise/b_simple) of this model "
                     "on these data",
                     Basis::measured};
    Finding finding;
    finding.basis = Basis::measured;
    finding.numbers = {
        {"batch", plain(c.batch)},
        {"noise scale", plain(std::round(scale))},
        {"steps, of the fewest", fmt::format("{:.3g}", relative_steps(c.batch, scale))},
        {"samples, of the fewest", fmt::format("{:.3g}", relative_samples(c.batch, scale))}};
    finding.text = fmt::format(
        "batch {} needs {:.2g} times the fewest steps and {:.2g} times the fewest samples, at a "
        "noise scale of {}",
        plain(c.batch), relative_steps(c.batch, scale), relative_samples(c.batch, scale),
        plain(std::round(scale)));
    constexpr double far = 4;
    if (c.batch > far * scale) {
      finding.verdict = Verdict::warning;
      finding.text += ": far above it, more nodes for a larger batch buy hardly any time";
    } else if (c.batch < scale / far) {
      finding.verdict = Verdict::advice;
      finding.text += ": far below it, a larger batch on more nodes is nearly free";
    }
    return finding;
  });
}

std::vector<Finding> advise_local_batch(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    if (c.batch <= 0) return std::nullopt;
    std::vector<Throughput> measured;
    for (const PastRun& run : runs_like(study, c))
      measured.push_back({run.batch / run.ranks, run.samples_per_s / run.ranks});
    const double knee = throughput_knee(measured);
    if (knee <= 0)
      return Finding{Verdict::unknown,
                     "no earlier runs of this model at several local batches tell where its "
                     "throughput levels off: batch.per_rank: {values: [8, 32, 128]}",
                     Basis::measured};
    Finding finding;
    finding.basis = Basis::measured;
    finding.numbers = {{"local batch", plain(c.local_batch())},
                       {"90 % of the best throughput from", plain(knee)}};
    if (c.local_batch() < knee) {
      finding.verdict = c.ranks > 1 ? Verdict::warning : Verdict::advice;
      finding.text = fmt::format(
          "{} samples a rank are too few to keep it busy: earlier runs had 90 % of the best "
          "throughput only from {} on",
          plain(c.local_batch()), plain(knee));
    } else {
      finding.text = fmt::format("{} samples a rank keep it busy (90 % of the best from {} on)",
                                 plain(c.local_batch()), plain(knee));
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
