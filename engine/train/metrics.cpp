// Every metric has its row here; which of those of held-out samples a run has, its loss says.
#include "engine/train/metrics.h"

#include <algorithm>
#include <string_view>

#include "engine/nn/graph.h"

namespace thalweg::engine {
namespace {

struct Row {
  MetricInfo info;
  bool (*reported)(const RunFacts& facts) = nullptr;  ///< null: always
};

bool between_ranks(const RunFacts& facts) {
  return facts.several_ranks && facts.several_steps;
}

bool noise(const RunFacts& facts) {
  return facts.measures_noise;
}

bool grows(const RunFacts& facts) {
  return facts.grows;
}

bool counts_samples(const RunFacts& facts) {
  return facts.grows || facts.on_demand;
}

bool on_demand(const RunFacts& facts) {
  return facts.on_demand;
}

bool stale(const RunFacts& facts) {
  return facts.stale;
}

bool checkpoints(const RunFacts& facts) {
  return facts.checkpoints;
}

bool energy(const RunFacts& facts) {
  return facts.energy;
}

const std::vector<Row>& own_rows() {
  constexpr const char* kStale = "sync.mode async, hybrid or abs";
  constexpr const char* kRounds = "sync.mode abs";
  constexpr const char* kGrowth = "batch_growth";
  constexpr const char* kRanks = "several ranks";
  constexpr const char* kNoise = "noise.every above 0, several shards";
  static const std::vector<Row> rows{
      {{metric::train_loss,
        "mean loss over the samples since the last report (loss: what a sample's is)", "", "",
        false}},
      {{metric::lr, "learning rate of the last update", "", "", false}},
      {{metric::epoch, "how often the training samples were gone through", "epochs", "", true}},
      {{metric::samples_per_s, "training samples of all ranks a second", "samples/s", "", true}},
      {{metric::tflops,
        "floating point operations of forward and backward, of all ranks, a second (10^12)",
        "TFLOP/s", "", true}},
      {{metric::data_ms, "waiting for samples, a step", "ms", "", false}},
      {{metric::compute_ms, "forward and backward, a step", "ms", "", false}},
      {{metric::optimizer_ms, "the update, a step", "ms", "", false}},
      {{metric::comm_exposed_ms, "waiting for sums of gradients, a step", "ms", "", false}},
      {{metric::comm_ms, "sums of gradients under way on all ranks, a step", "ms", kRanks, false},
       between_ranks},
      {{metric::skew_ms, "waiting for ranks that were slower to compute, a step", "ms", kRanks,
        false},
       between_ranks},
      {{metric::overlap, "share of perf/comm_ms hidden behind backward and update", "", kRanks,
        true},
       between_ranks},
      {{metric::startup_s, "from the start of the program to its first step", "s", "", false}},
      {{metric::kernels_s, "measuring kernels, a part of perf/startup_s", "s", "", false}},
      {{metric::validation_s, "validations up to now, of this attempt", "s", "", false}},
      {{metric::checkpoint_s, "checkpoints up to now, of this attempt", "s", "", false}},
      {{metric::checkpoint_bytes, "size of the checkpoint that was written", "bytes",
        "those that write checkpoints", false},
       checkpoints},
      {{metric::checkpoint_ms, "that training waited for it", "ms", "those that write checkpoints",
        false},
       checkpoints},
      {{metric::checkpoint_write_ms, "until it was on the disk", "ms",
        "those that write checkpoints", false},
       checkpoints},
      {{metric::cpu_energy_j,
        "processors' and their memory's energy up to now, of all nodes, in this attempt", "J",
        "all nodes have counters (RAPL) that the user may read", false},
       energy},
      {{metric::gpu_energy_j, "energy of all ranks' GPUs up to now, in this attempt", "J",
        "the GPUs have counters (NVML: Volta and later, whole GPUs)", false},
       energy},
      {{metric::node_energy_j, "energy of all nodes as a whole up to now, in this attempt", "J",
        "all nodes have a counter that the user may read (HPE Cray: pm_counters)", false},
       energy},
      {{metric::slurm_energy_j, "energy of all nodes, by Slurm, up to now, in this attempt", "J",
        "Slurm has an energy plug-in (AcctGatherEnergyType; see sstat)", false},
       energy},
      {{metric::b_simple, "gradient noise scale: trace / squared_norm", "samples", kNoise, false},
       noise},
      {{metric::noise_trace, "variance of a sample's gradient", "", kNoise, false}, noise},
      {{metric::noise_squared_norm, "squared norm of the true gradient", "", kNoise, false}, noise},
      {{metric::batch_size, "samples in the next update", "samples", kGrowth, false}, grows},
      {{metric::batch_samples, "samples trained on up to now", "samples",
        "batch_growth, or sync.mode abs", true},
       counts_samples},
      {{metric::staleness_mean,
        "updates that others made to weights between their being sent and their gradient's arrival",
        "updates", kStale, false},
       stale},
      {{metric::staleness_p50, "median of the same", "updates", kStale, false}, stale},
      {{metric::staleness_p99, "99th percentile of the same", "updates", kStale, false}, stale},
      {{metric::staleness_max, "largest of the same", "updates", kStale, false}, stale},
      {{metric::round_size, "samples of all ranks in a round", "samples", kRounds, false},
       on_demand},
      {{metric::passes_min, "passes in a round of the rank that makes fewest", "", kRounds, false},
       on_demand},
      {{metric::passes_max, "passes in a round of the rank that makes most", "", kRounds, false},
       on_demand},
  };
  return rows;
}

/// What is measured on held-out samples beside their loss; losses say which of it they have
/// (engine/losses).
const std::vector<MetricInfo>& held_out_rows() {
  static const std::vector<MetricInfo> rows{
      {"error", "share of the answers that are wrong", "", "loss cross_entropy, dice or bce",
       false},
      {"accuracy", "1 - error", "", "loss cross_entropy, dice or bce", true},
      {"top5_error", "share of the labels that are not among the five most likely classes", "",
       "loss cross_entropy, more than five classes", false},
      {"perplexity", "exp of the mean loss over all positions that have a label", "",
       "loss cross_entropy, a label at each position (language models)", false},
      {"iou", "intersection over union of predicted and true segments", "",
       "loss dice or bce, or cross_entropy with a label for each pixel", true},
      {"mae", "mean absolute error of the targets", "", "loss mse or l1", false},
  };
  return rows;
}

/// Samples that are evaluated and not trained on.
struct HeldOut {
  const char* set;
  const char* samples;
  const char* when;                          ///< which runs have them, in words; empty: all
  bool (*there)(const RunFacts&) = nullptr;  ///< null: always
};

bool tests(const RunFacts& facts) {
  return facts.tests;
}

const std::vector<HeldOut>& held_out_sets() {
  static const std::vector<HeldOut> sets{{metric::validation, "validation samples", ""},
                                         {metric::test, "test samples", "test samples", tests}};
  return sets;
}

MetricInfo loss_of(const HeldOut& held_out) {
  return {held_out_metric(held_out.set, metric::loss),
          std::string("mean loss over the ") + held_out.samples + " (loss: what a sample's is)", "",
          held_out.when, false};
}

MetricInfo of_set(const HeldOut& held_out, MetricInfo row) {
  row.name = held_out_metric(held_out.set, row.name);
  if (*held_out.when != '\0') row.when = held_out.when + ("; " + row.when);
  return row;
}

bool has(const LossPlan& loss, const std::string& name) {
  return std::any_of(loss.kind->metrics.begin(), loss.kind->metrics.end(), [&](const Metric& m) {
    return m.name == name && (m.applies == nullptr || m.applies(loss));
  });
}

}  // namespace

std::string held_out_metric(const char* set, const std::string& name) {
  return std::string(set) + "/" + name;
}

std::vector<MetricInfo> metric_table() {
  std::vector<MetricInfo> metrics{own_rows().front().info};
  for (const HeldOut& held_out : held_out_sets()) {
    metrics.push_back(loss_of(held_out));
    for (const MetricInfo& row : held_out_rows())
      metrics.push_back(of_set(held_out, row));
  }
  for (std::size_t i = 1; i < own_rows().size(); ++i)
    metrics.push_back(own_rows()[i].info);
  return metrics;
}

std::vector<MetricInfo> reported_metrics(const RunFacts& facts) {
  std::vector<std::string> names;
  for (const Row& row : own_rows())
    if (row.reported == nullptr || row.reported(facts)) names.push_back(row.info.name);
  for (const HeldOut& held_out : held_out_sets()) {
    if (held_out.there != nullptr && !held_out.there(facts)) continue;
    names.push_back(held_out_metric(held_out.set, metric::loss));
    for (const MetricInfo& row : held_out_rows())
      if (has(*facts.loss, row.name)) names.push_back(held_out_metric(held_out.set, row.name));
  }
  std::vector<MetricInfo> metrics = metric_table();
  std::erase_if(metrics, [&](const MetricInfo& m) {
    return std::find(names.begin(), names.end(), m.name) == names.end();
  });
  return metrics;
}

MetricInfo default_metric(const LossPlan& loss) {
  const HeldOut& validation = held_out_sets().front();
  const bool images = loss.output.size() > 2;
  for (const char* name : {"perplexity", "iou", "error", "mae"}) {
    if (!has(loss, name) || (std::string_view(name) == "iou" && !images)) continue;
    for (const MetricInfo& row : held_out_rows())
      if (row.name == name) return of_set(validation, row);
  }
  return validation_loss();
}

MetricInfo validation_loss() {
  return loss_of(held_out_sets().front());
}

jobspec::Value metrics_json(const std::vector<MetricInfo>& metrics) {
  jobspec::List list;
  for (const MetricInfo& m : metrics) {
    jobspec::Map map{{"name", m.name}, {"doc", m.doc}};
    if (!m.unit.empty()) map.emplace_back("unit", m.unit);
    if (!m.when.empty()) map.emplace_back("when", m.when);
    map.emplace_back("better", m.larger_is_better ? "larger" : "smaller");
    list.push_back(std::move(map));
  }
  return list;
}

std::string describe_metrics(const std::vector<MetricInfo>& metrics) {
  std::size_t width = 0;
  for (const MetricInfo& m : metrics)
    width = std::max(width, m.name.size());
  std::string text;
  for (const MetricInfo& m : metrics) {
    text += m.name + std::string(width + 2 - m.name.size(), ' ') +
            (m.larger_is_better ? "larger   " : "smaller  ") + m.doc;
    if (!m.unit.empty()) text += " (" + m.unit + ")";
    if (!m.when.empty()) text += "; of runs with " + m.when;
    text += '\n';
  }
  return text;
}

}  // namespace thalweg::engine
