// The only place of the trainer that knows which section of the tree makes what.
#include "engine/train/factory.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "engine/data/augment.h"
#include "engine/data/dataset.h"
#include "engine/data/mixing.h"
#include "engine/nn/model_table.h"

namespace thalweg::engine {

using jobspec::Value;

namespace {

Value without(Value tree, std::initializer_list<std::string_view> keys) {
  std::erase_if(tree.as_map(), [&](const auto& entry) {
    return std::find(keys.begin(), keys.end(), entry.first) != keys.end();
  });
  return tree;
}

}  // namespace

double Factory::base_lr(std::string* note) const {
  return base_learning_rate(section("optimizer"), model_name(), note);
}

Value Factory::optimizer_tree(std::string* note) const {
  Value tree = section("optimizer");
  std::string scaled = scale_betas(tree, static_cast<int>(section("batch.global").as_int()));
  if (note != nullptr) *note = std::move(scaled);
  return tree;
}

std::string Factory::beta_note() const {
  std::string note;
  optimizer_tree(&note);
  return note;
}

std::unique_ptr<Dataset> Factory::dataset(bool staged) const {
  return load_dataset(staged ? section("data") : without(section("data"), {"stage"}));
}

DataHeader Factory::data_header() const {
  return read_data_header(without(section("data"), {"stage"}));
}

std::optional<SplitSizes> Factory::split_sizes(const Dataset& dataset) const {
  return engine::split_sizes(dataset, section("data"));
}

std::unique_ptr<Augmenter> Factory::augmenter(const Dataset& dataset) const {
  return std::make_unique<Augmenter>(section("augment"), dataset.form());
}

std::unique_ptr<Mixer> Factory::mixer(const Dataset& dataset) const {
  return std::make_unique<Mixer>(section("augment"), dataset.form());
}

Split Factory::split(const Dataset& dataset) const {
  return split_samples(dataset, section("data"));
}

Graph Factory::graph(const InputShape& input) const {
  return build_model_graph(section("model"), input, section("loss"));
}

std::unique_ptr<Model> Factory::model(const InputShape& input, int samples,
                                      const Settings& with) const {
  return build_model(section("model"), input, samples, with.device, section("loss"),
                     compile_options(with));
}

std::unique_ptr<Optimizer<float>> Factory::optimizer(const Parameters<float>& parameters) const {
  return make_optimizer<float>(optimizer_tree(), parameters);
}

std::unique_ptr<Schedule> Factory::schedule(const RunLength& length) const {
  return make_schedule(section("schedule"), length);
}

StopRule Factory::stop_rule(const jobspec::Metric& metric) const {
  return {section("stop"), metric};
}

Best Factory::best(const jobspec::Metric& metric) const {
  return section("checkpoint.best").as_bool() ? Best(metric) : Best();
}

std::string Factory::describe_schedule(const RunLength& length) const {
  return engine::describe_schedule(section("schedule"), length, base_lr());
}

void Factory::require_sync(const SyncFacts& facts) const {
  engine::require_sync(section("sync"), facts);
}

std::int64_t Factory::sync_vectors(const Sharding& sharding, int ranks, bool on_gpu) const {
  return engine::sync_vectors(section("sync"), sharding, ranks, on_gpu);
}

std::unique_ptr<SyncMode> Factory::sync_mode(const SyncParts& parts) const {
  return make_sync_mode(section("sync"), parts);
}

bool Factory::takes_on_demand() const {
  return engine::takes_on_demand(section("sync"));
}

bool Factory::wants_autotune() const {
  return engine::wants_autotune(section("sync"));
}

int Factory::executors(const Settings& with, bool joins_shards, int shards, int threads) {
  if (with.device == "cuda") return 1;
  return joins_shards ? shards : std::clamp(threads, 1, std::max(1, shards));
}

std::string Factory::data_key() const {
  // Who prepares batches, and in which order, does not change them.
  return without(section("data"), {"stage", "shuffle", "workers", "ahead"}).canonical();
}

std::string Factory::graph_key() const {
  return section("model").canonical() + section("loss").canonical();
}

std::string Factory::init_from_key() const {
  return section("init_from").canonical();
}

Value Factory::resolved(const Settings& settings, int shards) const {
  Value tree = tree_;
  tree.set("optimizer", optimizer_tree());
  tree.set("optimizer.lr", base_lr());
  tree.set("device", settings.device);
  if (settings.epochs) tree.set("epochs", *settings.epochs);
  tree.set("batch.shards", shards);
  return tree;
}

}  // namespace thalweg::engine
