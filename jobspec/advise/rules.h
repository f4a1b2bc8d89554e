// The rules' functions, a group of them in each file, and what they share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jobspec/advise/advise.h"

namespace thalweg::jobspec::advise {

// parallelism.cpp: what fits into memory
std::vector<Finding> advise_parallelism(const Study& study);
std::vector<Finding> advise_minibatch(const Study& study);
// dataset.cpp
std::vector<Finding> advise_dataset_size(const Study& study);
std::vector<Finding> advise_dataset_growth(const Study& study);
std::vector<Finding> advise_subset(const Study& study);
// batch.cpp
std::vector<Finding> advise_global_batch(const Study& study);
std::vector<Finding> advise_critical_batch(const Study& study);
std::vector<Finding> advise_local_batch(const Study& study);
// optimizer.cpp
std::vector<Finding> advise_optimizer(const Study& study);
std::vector<Finding> advise_adasum_rate(const Study& study);
// rate.cpp: learning rates
std::vector<Finding> advise_rate_scaling(const Study& study);
std::vector<Finding> advise_weak_scaling(const Study& study);
std::vector<Finding> advise_warmup(const Study& study);
std::vector<Finding> advise_decay(const Study& study);
// sync.cpp: how ranks work together
std::vector<Finding> advise_sync_mode(const Study& study);
std::vector<Finding> advise_lag(const Study& study);
std::vector<Finding> advise_asynchrony(const Study& study);
std::vector<Finding> advise_transport(const Study& study);
std::vector<Finding> advise_parameter_servers(const Study& study);
// nodes.cpp
std::vector<Finding> advise_nodes(const Study& study);
std::vector<Finding> advise_scaling_limit(const Study& study);
std::vector<Finding> advise_queue(const Study& study);
// plan.cpp
std::vector<Finding> advise_seeds(const Study& study);
std::vector<Finding> advise_checkpoints(const Study& study);

/// What `of` says of each configuration that it says something of.
template <class Function>
std::vector<Finding> of_each(const Study& study, Function of) {
  std::vector<Finding> findings;
  for (const Configuration& configuration : study.configurations)
    if (std::optional<Finding> finding = of(configuration)) {
      finding->trials = configuration.trials;
      findings.push_back(std::move(*finding));
    }
  return findings;
}

/// Earlier runs that tell of this configuration, by what has to agree.
std::vector<PastRun> runs_like(const Study& study, const Configuration& configuration,
                               bool (Configuration::*alike)(const PastRun&)
                                   const = &Configuration::runs_like);
/// The median of a number that earlier runs have; 0 where none has.
double median_of(const std::vector<PastRun>& runs, double PastRun::*number);

/// One finding about the whole sweep that a number is missing.
std::vector<Finding> not_known(std::string text);

/// "55,000", "0.014", "1.5e-05".
std::string plain(double number);
/// "1.2 GiB".
std::string bytes_text(double bytes);
/// "45 s", "3 min", "2.5 h".
std::string seconds_text(double seconds);
/// Median of what is above 0; 0 where nothing is.
double median_of(std::vector<double> values);

}  // namespace thalweg::jobspec::advise
