// Training of one of the six models on random data, by the synchronous mode that trials use.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/comm/group.h"
#include "engine/sync/mode.h"
#include "engine/tensor/buffer.h"
#include "tests/bench/step/operations.h"
#include "tests/support/models.h"

namespace thalweg::engine::bench {

struct Settings {
  std::string model;
  std::map<std::string, std::string> values{{"batch", "0"},
                                            {"threads", "1"},
                                            {"shards", "0"},
                                            {"optimizer", "momentum"},
                                            {"seconds", "2"},
                                            {"device", "cpu"},
                                            {"precision", "fp32"},
                                            {"profile", "0"},
                                            {"serve", ""},
                                            {"bind", "-1"},
                                            {"kernels", "measured"},
                                            {"first", "0"},
                                            {"loops", "0"},
                                            {"top", "15"},
                                            {"times", ""}};
  jobspec::Map sync;           ///< of train.sync
  jobspec::Map model_options;  ///< besides those of the model's case

  int number(const std::string& key) const { return std::stoi(values.at(key)); }
  const std::string& text(const std::string& key) const { return values.at(key); }
};

/// The model that is named, with the options given. Throws std::invalid_argument, with all names.
test::ModelCase case_of(const Settings& settings);

/// Of the steps of one run.
struct Times {
  double step_ms = 0;                                 ///< median
  double samples_per_s = 0;                           ///< of all ranks
  double compute_ms = 0, sums_ms = 0, update_ms = 0;  ///< means
  double loss = 0;
};

/// What an executor does in a step of one shard, in the order in which it does it.
struct Observed {
  const cpu::Operation* operation;  ///< null: the loss
  std::vector<double> seconds;      ///< of each step
};

struct Watched {
  Times times;
  std::vector<Observed> operations;
};

class Trainer {
 public:
  /// `settings.batch` samples on every rank, cut into a shard for each thread.
  Trainer(const Settings& settings, comm::Group& group);

  /// The losses of the next steps; with the setting `first` all on the same batch.
  std::vector<double> losses(int steps);
  /// Steps for so long that rank 0 has seen `seconds`, after some that warm up. All ranks.
  Times run(double seconds);
  /// As run(), with a look at the only executor. No operations where the device is not `cpu`.
  Watched observe(double seconds);

  double flops_of_step() const;  ///< of this rank
  double bytes_of_step() const;  ///< at least, of this rank
  double gflops();               ///< attainable by this rank's threads
  const Model& model() const { return *model_; }
  const Graph& graph() const { return graph_; }
  int batch() const { return batch_; }
  ExecutorPool& executors() { return *executors_; }

 private:
  std::optional<StepOutcome> step(bool stop);
  BatchForm form_of_batches(const Sharding& sharding) const;
  void make_samples();

  comm::Group& group_;
  const test::ModelCase case_;
  bool bf16_;
  int batch_, batch_count_;
  Graph graph_;
  std::unique_ptr<Model> model_;
  BatchForm form_;  ///< of each of the batches; on a GPU in its micro-batches, in pinned memory
  std::vector<Buffer> host_;
  std::vector<gpu::Memory> pinned_;
  std::vector<std::byte*> batches_;
  std::unique_ptr<Optimizer<float>> optimizer_;
  std::unique_ptr<ExecutorPool> executors_;
  std::unique_ptr<Replica> replica_;
  std::unique_ptr<SyncMode> mode_;
  std::int64_t number_ = 0;
};

}  // namespace thalweg::engine::bench
