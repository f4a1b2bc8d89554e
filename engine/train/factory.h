// What a `train` tree asks for, each part made in one place: for training, --check,
// --describe and --noise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "engine/data/header.h"
#include "engine/data/split.h"
#include "engine/nn/model.h"
#include "engine/optim/optimizer.h"
#include "engine/schedule/schedule.h"
#include "engine/sync/emulate.h"
#include "engine/sync/mode.h"
#include "engine/train/best.h"
#include "engine/train/init_from.h"
#include "engine/train/options.h"
#include "engine/train/stop_rule.h"
#include "jobspec/value.h"

namespace thalweg::engine {

class Augmenter;
class Dataset;
class Mixer;
struct Graph;

/// A complete tree. Immutable; thread-safe. All but the constructor throw std::invalid_argument
/// where things do not fit together.
class Factory {
 public:
  /// As jobspec::complete_train() makes it.
  explicit Factory(jobspec::Value complete = jobspec::Map{}) : tree_(std::move(complete)) {}

  /// As read_settings().
  Settings settings(int gpus_per_node = 0) const { return read_settings(tree_, gpus_per_node); }
  /// optimizer.lr, or what auto is for this optimizer and model; `note`: that, for the user.
  double base_lr(std::string* note = nullptr) const;
  /// For the user: which betas are scaled to the batch; empty where none are.
  std::string beta_note() const;
  /// "lenet", "fashion-mnist".
  std::string model_name() const { return tree_.find("model.name")->as_string(); }
  std::string data_name() const { return tree_.find("data.name")->as_string(); }

  /// `staged`: files are copied to data.stage first, where that is set.
  std::unique_ptr<Dataset> dataset(bool staged = true) const;
  std::unique_ptr<Augmenter> augmenter(const Dataset& dataset) const;
  std::unique_ptr<Mixer> mixer(const Dataset& dataset) const;
  Split split(const Dataset& dataset) const;
  /// As dataset() and split(), without reading contents.
  DataHeader data_header() const;
  std::optional<SplitSizes> split_sizes(const Dataset& dataset) const;
  Graph graph(const InputShape& input) const;
  /// For shards of `samples`, with the settings' device, precision and so on.
  std::unique_ptr<Model> model(const InputShape& input, int samples, const Settings& with) const;
  std::unique_ptr<Optimizer<float>> optimizer(const Parameters<float>& parameters) const;
  std::unique_ptr<Schedule> schedule(const RunLength& length) const;
  StopRule stop_rule(const jobspec::Metric& metric) const;
  Best best(const jobspec::Metric& metric) const;
  std::optional<InitFrom> init_from() const { return read_init_from(section("init_from")); }
  /// For people.
  std::string describe_schedule(const RunLength& length) const;
  void require_sync(const SyncFacts& facts) const;
  std::unique_ptr<SyncMode> sync_mode(const SyncParts& parts) const;
  Emulation emulation() const { return read_emulation(section("emulate")); }
  std::int64_t sync_vectors(const Sharding& sharding, int ranks, bool on_gpu) const;
  bool wants_autotune() const;
  bool takes_on_demand() const;  ///< engine::takes_on_demand
  /// How many executors a rank with `shards` shards has: more would have nothing to do. A GPU
  /// computes one shard after another.
  static int executors(const Settings& with, bool joins_shards, int shards, int threads);

  /// Texts that are equal where the datasets, the graphs (of equal data), or what init_from asks
  /// for, are.
  std::string data_key() const;
  std::string graph_key() const;
  std::string init_from_key() const;

  const jobspec::Value& tree() const { return tree_; }

  /// The tree with what `auto` has become, for the journal and the identity of a run.
  jobspec::Value resolved(const Settings& settings, int shards) const;

 private:
  const jobspec::Value& section(const char* path) const { return *tree_.find(path); }

  /// The section with its betas scaled to the batch.
  jobspec::Value optimizer_tree(std::string* note = nullptr) const;

  jobspec::Value tree_;
};

}  // namespace thalweg::engine
