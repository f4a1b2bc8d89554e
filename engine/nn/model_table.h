// The models: a new one is a .cpp in models/, its name here and a row in model_table.cpp.
#pragma once

#include <string>
#include <vector>

#include "engine/nn/graph.h"
#include "engine/nn/model.h"
#include "jobspec/options.h"
#include "jobspec/table.h"

namespace thalweg::engine {

struct ModelKind {
  std::string name;
  std::string doc;
  std::vector<jobspec::Option> options;
  /// Throws std::invalid_argument where the input does not fit.
  std::vector<LayerSpec> (*layers)(const jobspec::Options& options, const InputShape& input);
};

const jobspec::Table<ModelKind>& model_table();

std::vector<LayerSpec> inline_graph(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> mlp(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> cosmoflow(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> resnet(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> simple_cnn(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> gpt(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> bert(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> unet(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> flood_filling(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> encoder_decoder(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> lstm_lm(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> lstm(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> conv_lstm(const jobspec::Options& options, const InputShape& input);
std::vector<LayerSpec> lenet(const jobspec::Options& options, const InputShape& input);

/// Throws std::invalid_argument where the data is not tokens with a label at each position.
void expect_tokens(const char* model, const InputShape& input);
/// Channels that a model of segmentation puts out. Throws std::invalid_argument where the data has
/// not the same number of labels or targets for each pixel; `model` is named in the message.
std::int64_t channels_for_pixels(const char* model, const InputShape& input);

/// The graph of the trial's `train.model` tree. Throws std::invalid_argument.
Graph build_model_graph(const jobspec::Value& model, const InputShape& input,
                        const jobspec::Value& loss = jobspec::null_value());

/// Model::joins_shards of a graph's model.
bool joins_shards(const Graph& graph);

}  // namespace thalweg::engine
