// The table of rules, and what they share. A rule looks at the whole study, so that it can speak of
// an axis as well as of a configuration; what it says of many configurations is told once.
#include "jobspec/advise/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/advise/rules.h"

namespace thalweg::jobspec::advise {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table = {
      {"parallelism", "Is data parallelism enough?",
       "NERSC distributed-training guidelines: data-, model- and hybrid parallelism",
       advise_parallelism},
      {"minibatch", "How large a local batch fits into memory?",
       "Zou et al., arXiv:1709.06622: the procedure for mini-batch sizes", advise_minibatch},
      {"dataset_size", "Are there enough data for the model?",
       "NERSC distributed-training guidelines, table of datasets; arXiv:1907.03382, "
       "arXiv:1808.04728, arXiv:1512.03385",
       advise_dataset_size},
      {"dataset_growth", "How to get more data?",
       "NERSC distributed-training guidelines; arXiv:1808.04728", advise_dataset_growth},
      {"subset", "What follows after tuning on a subset?", "NERSC distributed-training guidelines",
       advise_subset},
      {"global_batch", "Is the global batch usual for so many samples?",
       "NERSC distributed-training guidelines: below the root of the number of samples",
       advise_global_batch},
      {"critical_batch", "Does the global batch use its samples well?",
       "McCandlish et al., arXiv:1812.06162, eq. 2.11", advise_critical_batch},
      {"local_batch", "Does the local batch keep a rank busy?",
       "NERSC distributed-training guidelines", advise_local_batch},
      {"optimizer", "Does the optimizer serve at this batch?",
       "NERSC distributed-training guidelines; arXiv:1706.02677, arXiv:1708.03888, "
       "arXiv:1904.00962",
       advise_optimizer},
      {"adasum_rate", "Which learning rate for Adasum?",
       "Horovod's documentation; arXiv:2006.02924", advise_adasum_rate},
      {"rate_scaling", "Does the learning rate follow the batch?",
       "arXiv:1706.02677 (linear), arXiv:1905.06236 (root beyond 16 times), arXiv:1811.03600 "
       "(retune)",
       advise_rate_scaling},
      {"weak_scaling", "Do batch and learning rate grow with the ranks?",
       "NERSC distributed-training guidelines", advise_weak_scaling},
      {"warmup", "Is a scaled rate warmed up to?", "Goyal et al., arXiv:1706.02677", advise_warmup},
      {"decay", "Does the learning rate fall?",
       "NERSC distributed-training guidelines; arXiv:2405.15682", advise_decay},
      {"sync_mode", "Is the synchronisation mode right?", "NERSC distributed-training guidelines",
       advise_sync_mode},
      {"lag", "Do rate and momentum suit the lag?",
       "Roots of the delayed quadratic; arXiv:1605.09774; arXiv:1810.01993; arXiv:2308.15164",
       advise_lag},
      {"asynchrony", "Does the momentum suit asynchronous workers?",
       "Mitliagkas et al., arXiv:1605.09774; Kurth et al., arXiv:1708.05256", advise_asynchrony},
      {"transport", "Do messages take the fast network?",
       "NERSC distributed-training guidelines: no gRPC on HPC", advise_transport},
      {"parameter_servers", "How many parameter servers would do?",
       "Zou et al., arXiv:1709.06622: lemma on parameter servers", advise_parameter_servers},
      {"nodes", "Does a job ask for a sensible number of nodes?",
       "NERSC distributed-training guidelines; the site's max_nodes_per_job", advise_nodes},
      {"scaling_limit", "Up to how many ranks does training gain?",
       "Zou et al., arXiv:1709.06622: lemma on the number of GPUs", advise_scaling_limit},
      {"queue", "How long do such jobs wait?", "The record of earlier jobs", advise_queue},
      {"seeds", "Are there enough seeds for a verdict?",
       "Exact rank-sum test, corrected for all pairs", advise_seeds},
      {"checkpoints", "How often should checkpoints be written?",
       "Young, CACM 17 (1974); Daly, FGCS 22 (2006)", advise_checkpoints},
  };
  return table;
}

std::vector<Advice> advise(const Study& study) {
  std::vector<Advice> all;
  for (const Rule& rule : rules()) {
    std::vector<Advice> of_rule;
    for (Finding& finding : rule.apply(study)) {
      const auto same = std::find_if(of_rule.begin(), of_rule.end(), [&](const Advice& a) {
        return a.finding.verdict == finding.verdict && a.finding.text == finding.text;
      });
      if (same == of_rule.end()) {
        of_rule.push_back({&rule, std::move(finding)});
      } else {
        auto& trials = same->finding.trials;
        trials.insert(trials.end(), finding.trials.begin(), finding.trials.end());
      }
    }
    for (Advice& advice : of_rule) {
      std::sort(advice.finding.trials.begin(), advice.finding.trials.end());
      all.push_back(std::move(advice));
    }
  }
  return all;
}

std::string to_text(Verdict verdict) {
  switch (verdict) {
    case Verdict::warning:
      return "warning";
    case Verdict::advice:
      return "advice";
    case Verdict::fits:
      return "fits";
    case Verdict::unknown:
      return "unknown";
  }
  return "";
}

std::string to_text(Basis basis) {
  switch (basis) {
    case Basis::arithmetic:
      return "arithmetic";
    case Basis::measured:
      return "measured in earlier runs";
    case Basis::published:
      return "published experiments";
    case Basis::rule_of_thumb:
      return "rule of thumb";
  }
  return "";
}

std::string Configuration::text(const char* key) const {
  const Value* const value = train.find(key);
  return value && value->is_string() ? value->as_string() : "";
}

int Configuration::workers() const {
  return std::max(1, ranks - static_cast<int>(number("sync.servers")));
}

double Configuration::number(const char* key) const {
  const Value* const value = train.find(key);
  return value && value->is_number() ? value->as_double() : 0;
}

bool Configuration::is_like(const PastRun& run) const {
  return run.model == text("model.name") && run.data == text("data.name") &&
         (run.parameters == 0 || parameters == 0 || run.parameters == parameters);
}

namespace {

bool agree(const std::string& recorded, const std::string& now) {
  return recorded.empty() || now.empty() || recorded == now;
}

}  // namespace

bool Configuration::learns_like(const PastRun& run) const {
  const Value* const augment = train.find("augment");
  return is_like(run) && agree(run.precision, text("precision")) &&
         agree(run.augmentation, augment ? augment->canonical() : "");
}

bool Configuration::runs_like(const PastRun& run) const {
  return learns_like(run) && run.device == device() && agree(run.mode, text("sync.mode")) &&
         (run.threads == 0 || run.threads == resources.threads_per_rank);
}

std::vector<PastRun> runs_like(const Study& study, const Configuration& configuration,
                               bool (Configuration::*alike)(const PastRun&) const) {
  std::vector<PastRun> runs;
  for (const PastRun& run : study.experience.runs)
    if ((configuration.*alike)(run)) runs.push_back(run);
  return runs;
}

double median_of(const std::vector<PastRun>& runs, double PastRun::*number) {
  std::vector<double> values;
  for (const PastRun& run : runs)
    values.push_back(run.*number);
  return median_of(std::move(values));
}

std::vector<Finding> not_known(std::string text) {
  return {Finding{Verdict::unknown, std::move(text), Basis::measured}};
}

std::string plain(double number) {
  if (number != std::floor(number) || std::abs(number) >= 1e15)
    return fmt::format("{:.4g}", number);
  std::string digits = fmt::format("{:.0f}", std::abs(number));
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return (number < 0 ? "-" : "") + digits;
}

std::string bytes_text(double bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.3g} {}", bytes, units[unit]);
}

std::string seconds_text(double seconds) {
  constexpr double minute = 60, hour = 3600, day = 86'400;
  if (seconds < 2 * minute) return fmt::format("{:.3g} s", seconds);
  if (seconds < 2 * hour) return fmt::format("{:.3g} min", seconds / minute);
  if (seconds < 2 * day) return fmt::format("{:.3g} h", seconds / hour);
  return fmt::format("{:.3g} days", seconds / day);
}

double median_of(std::vector<double> values) {
  std::erase_if(values, [](double v) { return !(v > 0); });
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace thalweg::jobspec::advise
