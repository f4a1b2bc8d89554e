// Ranks as threads that train a small model together.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/batch.h"
#include "engine/gpu/gpu.h"
#include "engine/sync/mode.h"
#include "jobspec/value.h"

namespace thalweg::engine::test {

struct Case {
  jobspec::Value model;
  jobspec::Value optimizer = jobspec::Map{{"name", "momentum"}};
  jobspec::Value sync = jobspec::Map{};
  double clip_norm = 0;
  double clip_value = 0;
  int shards = 4;
  int steps = 3;
  int micro_batches = 1;
  double lr = 0.05;
  int noise_every = 1;
  const char* device = "reference";
  KernelOptions kernels = {};
  Precision precision = Precision::fp32;
  /// Puts another model round the one that is named above.
  std::function<std::unique_ptr<Model>(std::unique_ptr<Model>)> wrap{};
  /// Sample `poisoned` has NaN in it from this step on.
  int poisoned_from = 1000000;
  int poisoned = 0;
  const Emulation* emulation = nullptr;
  std::vector<int> firsts = {};  ///< Group::own_shards; empty: equal ranks
  const PassTime* pass_time = nullptr;
};

struct Trained {
  std::vector<float> parameters, running, losses;
  std::vector<double> noise;  ///< of each step that measured it: small squares, large squares
  bool stopped = false;
  std::string not_finite;  ///< of the first step where there was something
  int not_finite_step = -1;
  std::vector<CommTimes> times;

  /// Everything that must not depend on the number of ranks and threads.
  friend bool operator==(const Trained& a, const Trained& b) {
    return a.parameters == b.parameters && a.running == b.running && a.losses == b.losses &&
           a.noise == b.noise && a.stopped == b.stopped && a.not_finite == b.not_finite &&
           a.not_finite_step == b.not_finite_step;
  }
};

inline constexpr int kBatch = 24;

/// Batches in pinned memory, as a GPU takes them: each stays while the next three are filled, of
/// which a step of some tests takes two.
class PinnedBatches {
 public:
  /// Of the samples that `example` has; what it points to is not looked at.
  PinnedBatches(gpu::Gpu& machine, const Sharding& sharding, const StepInput& example);
  const BatchForm& form() const { return form_; }
  /// Copies what the input points to; the same input, in memory.
  StepInput fill(StepInput input);

 private:
  BatchForm form_;
  gpu::Memory memory_[4];
  std::size_t next_ = 0;
};

/// The parts of a rank, and its steps one by one.
class TestRank {
 public:
  TestRank(const Case& c, comm::Group& group, int threads);
  SyncParts parts();
  /// For threads of several ranks at once, too.
  StepInput host_input(int step) const;
  /// On a GPU in memory where two steps' batches stand.
  StepInput input(int step) const { return pinned(host_input(step)); }
  /// Of what the input points to: on a GPU the same in such memory.
  StepInput pinned(const StepInput& input) const { return pinned_ ? pinned_->fill(input) : input; }
  std::vector<float> plain_parameters() const;

  Sharding sharding;
  std::unique_ptr<Model> model;
  std::unique_ptr<Optimizer<float>> optimizer;
  std::unique_ptr<Replica> replica;
  std::unique_ptr<ExecutorPool> executors;

 private:
  const Case& case_;
  comm::Group& group_;
  std::vector<float> inputs_, poisoned_;
  std::vector<std::int32_t> labels_;
  std::unique_ptr<PinnedBatches> pinned_;  ///< on a GPU
};

/// What a checkpoint makes of a rank's run: another one that goes on from there.
void go_on(TestRank& from, SyncMode& old_mode, TestRank& to, SyncMode& mode);

/// Every rank's result. `stopper`: the rank that is asked to stop, -1 none.
std::vector<Trained> train(const Case& c, int ranks, int threads, int stopper = -1);

/// What require_sync() says of these options, and of facts that `change` has changed; empty:
/// nothing.
std::string refusal_of(const jobspec::Value& sync,
                       const std::function<void(SyncFacts& facts)>& change = {});

/// Calls `body` in a thread for each rank, or as play_ranks_by() says; an exception is rethrown
/// here.
void on_ranks(int ranks, const std::function<void(comm::Group& group)>& body);
/// From now on; empty: in threads.
using Ranks = std::function<void(int ranks, const std::function<void(comm::Group& group)>& body)>;
void play_ranks_by(Ranks how);

Case batch_norm_and_dropout();

/// On the emulated machine, for ranks that are threads. Its streams do their work at once, or
/// whenever events allow it.
class Emulated {
 public:
  explicit Emulated(bool threads) {
    setenv("THALWEG_GPU", "emulated", 1);
    if (threads) setenv("THALWEG_GPU_STREAMS", "threads", 1);
  }
  ~Emulated() {
    if (had_) setenv("THALWEG_GPU", before_.c_str(), 1);
    if (!had_) unsetenv("THALWEG_GPU");
    unsetenv("THALWEG_GPU_STREAMS");
  }

 private:
  bool had_ = std::getenv("THALWEG_GPU") != nullptr;
  std::string before_ = had_ ? std::getenv("THALWEG_GPU") : "";
};

/// A model whose executors report gradients in `order`, and leave out parameters (their memory is
/// filled with rubbish instead).
struct Rewired {
  std::vector<int> order;
  std::function<bool(int parameter, const Batch& batch)> touches;
};
std::unique_ptr<Model> rewire(std::unique_ptr<Model> model, const Rewired& how);

}  // namespace thalweg::engine::test
