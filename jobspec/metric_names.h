// The names of the metrics that the engine reports, each written once: the engine writes points
// under them; the controller, the analysis and the command line read them by the same constants.
// And how those of other programs may be called, and how many an attempt may report: beyond that
// are programs that take a value for a name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace thalweg::jobspec::metric {

inline constexpr const char* train_loss = "train/loss";
inline constexpr const char* lr = "lr";
inline constexpr const char* epoch = "epoch";
inline constexpr const char* samples_per_s = "perf/samples_per_s";
inline constexpr const char* tflops = "perf/tflops";
inline constexpr const char* data_ms = "perf/data_ms";
inline constexpr const char* compute_ms = "perf/compute_ms";
inline constexpr const char* optimizer_ms = "perf/optimizer_ms";
inline constexpr const char* comm_exposed_ms = "perf/comm_exposed_ms";
inline constexpr const char* comm_ms = "perf/comm_ms";
inline constexpr const char* skew_ms = "perf/skew_ms";
inline constexpr const char* overlap = "perf/overlap";
inline constexpr const char* startup_s = "perf/startup_s";
inline constexpr const char* kernels_s = "perf/kernels_s";
inline constexpr const char* validation_s = "perf/validation_s";
inline constexpr const char* checkpoint_s = "perf/checkpoint_s";
inline constexpr const char* checkpoint_bytes = "perf/checkpoint_bytes";
inline constexpr const char* checkpoint_ms = "perf/checkpoint_ms";
inline constexpr const char* checkpoint_write_ms = "perf/checkpoint_write_ms";
inline constexpr const char* cpu_energy_j = "perf/cpu_energy_j";
inline constexpr const char* gpu_energy_j = "perf/gpu_energy_j";
inline constexpr const char* node_energy_j = "perf/node_energy_j";
inline constexpr const char* slurm_energy_j = "perf/slurm_energy_j";
inline constexpr const char* b_simple = "noise/b_simple";
inline constexpr const char* noise_trace = "noise/trace";
inline constexpr const char* noise_squared_norm = "noise/squared_norm";
inline constexpr const char* batch_size = "batch/size";
inline constexpr const char* batch_samples = "batch/samples";
inline constexpr const char* staleness_mean = "sync/staleness_mean";
inline constexpr const char* staleness_p50 = "sync/staleness_p50";
inline constexpr const char* staleness_p99 = "sync/staleness_p99";
inline constexpr const char* staleness_max = "sync/staleness_max";
inline constexpr const char* round_size = "sync/round_size";
inline constexpr const char* passes_min = "sync/passes_min";
inline constexpr const char* passes_max = "sync/passes_max";
inline constexpr const char* validation = "val";  ///< the held-out samples of val/loss
inline constexpr const char* test = "test";       ///< those of test/loss
inline constexpr const char* loss = "loss";       ///< of held-out samples: val/loss

}  // namespace thalweg::jobspec::metric

namespace thalweg::jobspec {

inline constexpr std::size_t max_metrics = 1000, max_metric_name = 200;

/// 1 to 200 bytes, no control characters.
inline bool is_metric_name(std::string_view name) {
  return !name.empty() && name.size() <= max_metric_name &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20; });
}

}  // namespace thalweg::jobspec
