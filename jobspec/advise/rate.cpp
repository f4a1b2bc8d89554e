// Learning rates: how they follow the batch, how they begin and how they end.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jobspec/advise/rules.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec::advise {
namespace {

/// Linear scaling was best up to 16 nodes and the square root beyond (Dong et al.,
/// arXiv:1905.06236).
constexpr double linear_up_to = 16;
/// From this many times the reference batch on the full rate at once is risky (Goyal et al. rose
/// from 256 to 8192; their constant rate failed from 2048 on).
constexpr double warmup_from = 8;

const Axis* axis_of(const Study& study, const char* name) {
  for (const Axis& axis : study.sweep.axes)
    if (axis.name == name) return &axis;
  return nullptr;
}

/// Smallest and largest batch of those that have the same `key`.
struct Batches {
  double least = 0, most = 0;
  double growth() const { return least > 0 ? most / least : 1; }
};

template <class Chosen>
Batches batches_of(const Study& study, Chosen chosen) {
  Batches batches;
  for (const Configuration& c : study.configurations) {
    if (!chosen(c) || c.batch <= 0) continue;
    if (batches.least == 0 || c.batch < batches.least) batches.least = c.batch;
    batches.most = std::max(batches.most, c.batch);
  }
  return batches;
}

bool rate_follows(const Configuration& c) {
  const std::string scaling = c.text("schedule.scaling");
  return !scaling.empty() && scaling != "none";
}

bool varies_ranks(const Study& study) {
  return axis_of(study, "resources.nodes") || axis_of(study, "resources.ranks_per_node");
}

/// Optimizers that find their rate themselves.
bool finds_rate(const Configuration& c) {
  const std::string name = c.text("optimizer.name");
  return name == "prodigy" || name == "dadapt_adam";
}

/// Whether each batch, or each number of ranks that makes it, has one rate of its own.
bool zips_rate_with_batch(const Study& study) {
  const auto has = [](const std::vector<std::string>& names, const auto& test) {
    return std::any_of(names.begin(), names.end(), test);
  };
  return std::any_of(study.sweep.zip.begin(), study.sweep.zip.end(), [&](const auto& names) {
    return has(names, [](const std::string& name) { return name == "optimizer.lr"; }) &&
           has(names, [](const std::string& name) {
             return name.starts_with("batch.") || name.starts_with("resources.");
           });
  });
}

/// Decays that begin with a warm-up of their own.
bool rises_itself(const Configuration& c) {
  const std::string decay = c.text("schedule.decay");
  return decay == "one-cycle" || decay == "list";
}

bool grows_batch(const Configuration& c) {
  const std::string by = c.text("batch_growth.by");
  return !by.empty() && by != "none";
}

std::string how_to_scale() {
  return "schedule.scaling: auto with schedule.scaling_batch (linear up to 16 times, then the "
         "square root), or optimizer.lr as a parameter of its own";
}

}  // namespace

std::vector<Finding> advise_rate_scaling(const Study& study) {
  std::vector<Finding> findings =
      of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
        const double reference = c.number("schedule.scaling_batch");
        if (c.text("schedule.scaling") != "linear" || reference <= 0) return std::nullopt;
        const double times = c.batch / reference;
        if (times <= linear_up_to) return std::nullopt;
        return Finding{Verdict::advice,
                       fmt::format("linear scaling to {} times the rate: beyond 16 times the "
                                   "square root was better; schedule.scaling: auto",
                                   plain(times)),
                       Basis::published,
                       {{"batch", plain(c.batch)}, {"scaling_batch", plain(reference)}}};
      });
  if (varies_ranks(study)) return findings;  // weak_scaling speaks of that
  const Batches batches =
      batches_of(study, [](const Configuration& c) { return !rate_follows(c) && !finds_rate(c); });
  if (batches.growth() < 2) return findings;
  Finding finding;
  finding.basis = Basis::published;
  finding.numbers = {{"smallest batch", plain(batches.least)},
                     {"largest batch", plain(batches.most)}};
  if (zips_rate_with_batch(study)) {
    finding.verdict = Verdict::advice;
    finding.text =
        "each batch size has only one learning rate, so a batch is judged by how well its rate was "
        "chosen. Give each several rates (optimizer.lr outside of `zip`) to separate the two";
  } else if (axis_of(study, "optimizer.lr")) {
    finding.text = "every batch meets several rates: the sound comparison, since no rule fits all";
  } else {
    finding.verdict = Verdict::warning;
    finding.text = fmt::format(
        "batches from {} to {} at one learning rate compare the rate, not the batch: {}",
        plain(batches.least), plain(batches.most), how_to_scale());
  }
  findings.push_back(std::move(finding));
  return findings;
}

std::vector<Finding> advise_weak_scaling(const Study& study) {
  if (!varies_ranks(study)) return {};
  const Batches batches = batches_of(study, [](const Configuration&) { return true; });
  std::set<int> ranks;
  double min_local = 0;
  for (const Configuration& c : study.configurations) {
    ranks.insert(c.ranks);
    if (min_local == 0 || c.local_batch() < min_local) min_local = c.local_batch();
  }
  if (ranks.size() < 2 || batches.most <= 0) return {};
  Finding finding;
  finding.numbers = {{"fewest ranks", plain(*ranks.begin())},
                     {"most ranks", plain(*ranks.rbegin())},
                     {"smallest batch", plain(batches.least)},
                     {"largest batch", plain(batches.most)}};
  if (batches.growth() < 1.5) {
    finding.basis = Basis::arithmetic;
    finding.verdict = Verdict::advice;
    finding.text = fmt::format(
        "strong scaling: the batch stays {} and the local batch falls to {} on {} ranks; "
        "batch.per_rank makes it weak scaling, together with schedule.scaling",
        plain(batches.most), plain(min_local), plain(*ranks.rbegin()));
    return {finding};
  }
  const bool scaled =
      std::all_of(study.configurations.begin(), study.configurations.end(),
                  [](const Configuration& c) { return rate_follows(c) || finds_rate(c); });
  if (scaled) {
    finding.text = "weak scaling: batch and learning rate grow with the ranks";
    return {finding};
  }
  if (zips_rate_with_batch(study)) {
    finding.text = "weak scaling: each batch has the learning rate that is zipped with it";
    return {finding};
  }
  if (axis_of(study, "optimizer.lr")) {
    finding.text =
        "weak scaling: the batch grows with the ranks and meets the same learning rates at each "
        "size: sound where the best one of the largest batch is among them";
    return {finding};
  }
  finding.verdict = Verdict::warning;
  finding.text = fmt::format(
      "weak scaling without the learning rate: the batch grows from {} to {} and the rate does "
      "not: {}",
      plain(batches.least), plain(batches.most), how_to_scale());
  return {finding};
}

std::vector<Finding> advise_warmup(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    const double reference = c.number("schedule.scaling_batch");
    if (!rate_follows(c) || reference <= 0 || c.batch <= reference) return std::nullopt;
    const double times = c.batch / reference;
    Finding finding;
    finding.basis = Basis::published;
    finding.numbers = {{"batch", plain(c.batch)},
                       {"scaling_batch", plain(reference)},
                       {"schedule.warmup", c.text("schedule.warmup")}};
    const bool warms_up = c.text("schedule.warmup") != "none";
    if (rises_itself(c)) {
      const std::string decay = c.text("schedule.decay");
      finding.numbers.emplace_back("schedule.decay", decay);
      finding.verdict = warms_up ? Verdict::advice : Verdict::fits;
      finding.text = warms_up ? fmt::format(
                                    "{} has a warm-up of its own, and schedule.warmup: {} "
                                    "multiplies it: schedule.warmup: none",
                                    decay, c.text("schedule.warmup"))
                              : fmt::format("{} has a warm-up of its own", decay);
    } else if (warms_up) {
      finding.text = fmt::format("{} warm-up to the scaled rate", c.text("schedule.warmup"));
    } else {
      finding.verdict = times >= warmup_from ? Verdict::warning : Verdict::advice;
      finding.text = fmt::format(
          "the rate is scaled for {} times the batch and full from the first step: "
          "schedule.warmup: linear over a couple of epochs (Goyal et al.: 5)",
          plain(times));
    }
    return finding;
  });
}

std::vector<Finding> advise_decay(const Study& study) {
  return of_each(study, [&](const Configuration& c) -> std::optional<Finding> {
    const std::string decay = c.text("schedule.decay"), name = c.text("optimizer.name");
    if (decay.empty()) return std::nullopt;
    Finding finding;
    finding.basis = Basis::published;
    finding.numbers = {{"schedule.decay", decay}};
    const bool schedule_free = name.starts_with("schedule_free");
    if (schedule_free && decay != "constant") {
      finding.verdict = Verdict::warning;
      finding.text = fmt::format(
          "{} replaces the decay by a mean of its points: schedule.decay: constant", name);
    } else if (decay == "constant" && grows_batch(c)) {
      finding.numbers.emplace_back("batch_growth.by", c.text("batch_growth.by"));
      finding.text =
          "the batch grows instead of a rate that falls (Smith et al., arXiv:1711.00489)";
    } else if (!schedule_free && decay == "constant" && !axis_of(study, "schedule.decay")) {
      finding.verdict = Verdict::advice;
      finding.basis = Basis::rule_of_thumb;
      finding.text = "the rate never falls: cosine, linear, step or polynomial usually end better";
    } else {
      finding.text = "schedule.decay: " + decay;
    }
    return finding;
  });
}

}  // namespace thalweg::jobspec::advise
