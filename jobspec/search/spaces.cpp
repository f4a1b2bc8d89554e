// One line per parameter, each with its source. A space is here only where the engine's optimizer
// has the published one's parameters, with the same meaning: what would be left out or mean
// something else (AlgoPerf's Adafactor has a momentum, its Shampoo other factors) is not.
//
// AlgoPerf also tunes label smoothing and dropout, and fixes the schedule (5 % warm-up, cosine
// decay). These belong to the workload: `train` says them. Its 1 - beta1 is log-uniform.
#include "jobspec/search/spaces.h"

#include <algorithm>

namespace thalweg::jobspec {
namespace {

// tuning_search_space.json in these folders. The baselines are
// those of Dahl et al. 2023, arXiv:2306.07179.
constexpr std::string_view adamw_source =
    "mlcommons/algorithmic-efficiency, reference_algorithms/paper_baselines/adamw at commit "
    "479835be";
constexpr std::string_view nadamw_source =
    "mlcommons/algorithmic-efficiency, algorithms/paper_baselines/nadamw at commit 0ac2dbea";
constexpr std::string_view nesterov_source =
    "mlcommons/algorithmic-efficiency, reference_algorithms/paper_baselines/nesterov at commit "
    "66340432";
constexpr std::string_view lamb_source =
    "mlcommons/algorithmic-efficiency, reference_algorithms/paper_baselines/lamb at commit "
    "eafea996";

// clang-format off
constexpr PublishedSpace table[] = {
    {"algoperf", "adamw", "optimizer.lr", "{distribution: log_uniform_values, min: 1.0e-4, max: 1.0e-2}", adamw_source},
    {"algoperf", "adamw", "optimizer.beta1", "{distribution: one_minus_log_uniform_values, min: 0.5, max: 0.98}", adamw_source},
    {"algoperf", "adamw", "optimizer.beta2", "{value: 0.999}", adamw_source},
    {"algoperf", "adamw", "optimizer.weight_decay", "{distribution: log_uniform_values, min: 5.0e-3, max: 1.0}", adamw_source},
    {"algoperf", "nadamw", "optimizer.lr", "{distribution: log_uniform_values, min: 1.0e-4, max: 1.0e-2}", nadamw_source},
    {"algoperf", "nadamw", "optimizer.beta1", "{distribution: one_minus_log_uniform_values, min: 0.9, max: 0.996}", nadamw_source},
    {"algoperf", "nadamw", "optimizer.beta2", "{value: 0.999}", nadamw_source},
    {"algoperf", "nadamw", "optimizer.weight_decay", "{distribution: log_uniform_values, min: 5.0e-3, max: 1.0}", nadamw_source},
    {"algoperf", "nesterov", "optimizer.lr", "{distribution: log_uniform_values, min: 2.0e-2, max: 5.0}", nesterov_source},
    {"algoperf", "nesterov", "optimizer.momentum", "{distribution: one_minus_log_uniform_values, min: 0.7, max: 0.995}", nesterov_source},
    {"algoperf", "nesterov", "optimizer.weight_decay", "{distribution: log_uniform_values, min: 1.0e-7, max: 5.0e-5}", nesterov_source},
    {"algoperf", "lamb", "optimizer.lr", "{distribution: log_uniform_values, min: 1.0e-4, max: 1.0e-2}", lamb_source},
    {"algoperf", "lamb", "optimizer.beta1", "{distribution: one_minus_log_uniform_values, min: 0.7, max: 0.95}", lamb_source},
    {"algoperf", "lamb", "optimizer.beta2", "{value: 0.999}", lamb_source},
    {"algoperf", "lamb", "optimizer.weight_decay", "{distribution: log_uniform_values, min: 1.0e-3, max: 1.0}", lamb_source},
};
// clang-format on

void add_once(std::vector<std::string>& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

}  // namespace

std::span<const PublishedSpace> published_spaces() {
  return table;
}

std::vector<std::string> space_names() {
  std::vector<std::string> names;
  for (const PublishedSpace& row : table)
    add_once(names, row.set);
  return names;
}

std::vector<std::string> optimizers_of(std::string_view set) {
  std::vector<std::string> names;
  for (const PublishedSpace& row : table)
    if (row.set == set) add_once(names, row.value);
  return names;
}

}  // namespace thalweg::jobspec
