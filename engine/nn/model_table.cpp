#include "engine/nn/model_table.h"

#include <algorithm>
#include <stdexcept>

#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;
using jobspec::Value;

Option dropout() {
  return jobspec::float_option("dropout", 0.0, 0, 0.999,
                               "share of hidden features left out in training");
}

Option batch_norm(bool fallback) {
  return jobspec::flag_option("batch_norm", fallback, "batch normalisation before every relu");
}

Option count(const char* name, const char* doc, Value fallback, double max = 1 << 20) {
  return jobspec::int_option(name, std::move(fallback), 1, max, doc);
}

std::vector<Option> transformer(int layers, int heads, int width) {
  return {count("layers", "blocks", layers), count("heads", "of each attention", heads),
          count("width", "features of a position", width),
          count("inner", "features inside the blocks' second part; auto = 4 width", "auto"),
          dropout()};
}

std::vector<Option> lstms(int layers, int width) {
  return {count("layers", "stacked LSTM layers", layers), count("width", "features of each", width),
          dropout()};
}

std::vector<Option> joined(std::vector<Option> a, const std::vector<Option>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

constexpr const char* kSync = "sync_batch_norm";

void synchronise(std::vector<LayerSpec>& layers, const std::string& model) {
  bool found = false;
  for (LayerSpec& layer : layers) {
    if (layer.kind != "batch_norm") continue;
    found = true;
    const auto given = std::find_if(layer.options.begin(), layer.options.end(),
                                    [](const auto& option) { return option.first == "sync"; });
    if (given == layer.options.end()) layer.options.emplace_back("sync", true);
  }
  if (!found)
    throw std::invalid_argument(std::string("model.") + kSync + ": " + model +
                                " has no batch normalisation here; leave it out");
}

}  // namespace

const jobspec::Table<ModelKind>& model_table() {
  static const jobspec::Table<ModelKind> table(
      "model",
      {
          {"mlp",
           "fully connected layers",
           {jobspec::list_option("hidden", jobspec::List{512, 512},
                                 "features of each hidden layer"),
            jobspec::choice_option("activation", {"relu"}, "what follows every hidden layer"),
            dropout(), batch_norm(false)},
           mlp},
          {"lenet",
           "conv 3x3x32, max pool 2, conv 3x3x64, max pool 2, linear 128, linear",
           {dropout(), batch_norm(false)},
           lenet},
          {"simple_cnn",
           "conv 5x5x32, max pool 2, conv 5x5x64, max pool 2, linear 1024, linear (Shallue et al.)",
           {},
           simple_cnn},
          {"resnet",
           "residual network of 18, 34 or 50 layers",
           {jobspec::int_option("depth", 18, -jobspec::no_limit, jobspec::no_limit,
                                "weight layers: 18, 34 or 50"),
            jobspec::choice_option("stem", {"auto", "cifar", "imagenet"},
                                   "first layers: cifar (3x3), imagenet (7x7 and max pool), auto = "
                                   "by the image's size"),
            jobspec::flag_option("zero_gamma", true, "blocks start as the identity"),
            jobspec::choice_option("convolution", {"auto", "direct", "winograd"},
                                   "algorithm of the convolutions, as layer conv2d takes it")},
           resnet},
          {"cosmoflow",
           "3-D convolutions over volumes (MLPerf HPC or SC18 form)",
           {jobspec::choice_option("form", {"mlperf", "sc18"},
                                   "which of the two published networks"),
            count("channels",
                  "of the first convolution, doubled by each one after it (form mlperf)", 32, 1024),
            dropout()},
           cosmoflow},
          {"gpt", "transformer decoder over tokens: predicts the next one", transformer(4, 4, 256),
           gpt},
          {"bert", "transformer encoder over tokens: predicts masked ones", transformer(4, 4, 256),
           bert},
          {"encoder_decoder",
           "transformer that translates: the first positions of a sample are the source",
           joined(transformer(3, 4, 256),
                  {count("source", "positions of the source; auto = half of them", "auto")}),
           encoder_decoder},
          {"lstm_lm", "lstms over tokens: predict the next one", lstms(2, 256), lstm_lm},
          {"lstm", "lstms over (positions, features): one answer, or one a position", lstms(1, 128),
           lstm},
          {"conv_lstm", "3-D convolutions read a volume, an lstm answers target by target",
           joined(lstms(1, 512), {count("channels", "of the first two convolutions", 64),
                                  count("embedding", "features of a volume", 256)}),
           conv_lstm},
          {"unet",
           "U-Net: segmentation of images and volumes",
           {count("depth", "how often sizes are halved; auto = 4, of volumes 3", "auto", 8),
            count("channels", "of the first convolution; auto = 64, of volumes 32", "auto", 1024),
            jobspec::choice_option("form", {"auto", "ronneberger", "cicek"},
                                   "channels double from level to level (ronneberger) or within "
                                   "one (cicek); auto = by "
                                   "the data: images, volumes"),
            batch_norm(true)},
           unet},
          {"flood_filling",
           "residual 3-D network of flood-filling networks: logits of voxels",
           {count("modules", "residual modules of two convolutions", 8),
            count("channels", "of every convolution", 32)},
           flood_filling},
          {"graph", "layers of your own, one by one (thalweg-train --layers lists them)",
           std::vector<Option>{
               jobspec::required(jobspec::list_option("layers", {},
                                                      "maps of kind, name, inputs (names of layers "
                                                      "before it; left out: the one before) and "
                                                      "the kind's options"))},
           inline_graph},
      });
  return table;
}

Graph build_model_graph(const Value& model, const InputShape& input, const Value& loss) {
  const Value* name = model.find("name");
  if (name == nullptr || !name->is_string())
    throw std::invalid_argument("model.name is missing: which model is to be trained?");
  const ModelKind& kind = model_table().at(name->as_string());
  jobspec::Map options;
  for (const auto& entry : model.as_map())
    if (entry.first != "name" && entry.first != kSync) options.push_back(entry);
  complete_options(kind.options, options, "model " + kind.name);  // or throws
  std::vector<LayerSpec> layers = kind.layers({options, kind.options, "model."}, input);
  if (const Value* sync = model.find(kSync); sync != nullptr && sync->as_bool())
    synchronise(layers, kind.name);
  return build_graph(layers, input, loss);
}

std::vector<jobspec::Section> model_schema() {
  Option sync = jobspec::flag_option(
      kSync, false,
      "batch normalisation over the whole batch, all shards of all ranks, instead of each "
      "shard by itself; every shard needs a thread, and sums of gradients wait for backward");
  jobspec::Section section{"model", "the network to train", {std::move(sync)}, "name", {}};
  section.variants = model_table().variants();
  return {section, loss_schema()};
}

bool joins_shards(const Graph& graph) {
  return std::any_of(graph.layers.begin(), graph.layers.end(),
                     [](const LayerPlan& layer) { return layer.joins_shards; });
}

}  // namespace thalweg::engine
