// When a parameter's gradient is complete follows from the layers' floating point operations:
// forward through all of them, then backward from the last one.
#include "engine/train/shared_ranks.h"

#include <stdexcept>

#include "engine/data/dataset.h"
#include "engine/nn/flops.h"
#include "engine/nn/graph.h"
#include "engine/train/options.h"

namespace thalweg::engine {
namespace {

/// PassTime::complete. Parameters are numbered in the order of the layers.
std::vector<double> completions(const Graph& graph, std::size_t parameters) {
  const std::vector<Flops> layers = layer_flops(graph);
  double done = 0, all = 0;
  for (const Flops& layer : layers) {
    done += layer.forward;
    all += layer.training();
  }
  std::vector<double> shares;
  for (std::size_t i = layers.size(); i-- > 0;) {
    done += layers[i].backward;
    shares.insert(shares.end(), graph.layers[i].parameters.size(), all > 0 ? done / all : 1);
  }
  if (shares.size() != parameters)
    throw std::logic_error("the layers have " + std::to_string(shares.size()) +
                           " parameters, the model has " + std::to_string(parameters));
  return {shares.rbegin(), shares.rend()};
}

}  // namespace

std::shared_ptr<Dataset> SharedRanks::dataset(const Factory& factory) {
  if (!dataset_) dataset_ = factory.dataset();
  return dataset_;
}

double SharedRanks::flops_per_sample(const Factory& factory) {
  return flops_of(factory.graph(input_shape(*dataset(factory)))).training();
}

std::shared_ptr<Model> SharedRanks::model(const Factory& factory, const InputShape& input,
                                          int samples, const Settings& with) {
  if (!model_) {
    model_ = factory.model(input, samples, with);
    samples_ = samples;
    executor_ = model_->executor();
    pass_time = {seconds_per_sample,
                 completions(factory.graph(input), model_->parameters().size())};
  }
  if (samples_ != samples) throw std::logic_error("the ranks of a simulation share one model");
  return model_;
}

std::unique_ptr<ExecutorPool> SharedRanks::executors() {
  return std::make_unique<ExecutorPool>(*executor_, rounds_);
}

}  // namespace thalweg::engine
