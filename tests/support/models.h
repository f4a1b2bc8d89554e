// The models whose steps are measured and looked at: one of each family, small enough for one core.
#pragma once

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/device/input_shape.h"
#include "jobspec/value.h"

namespace thalweg::engine::test {

struct ModelCase {
  std::string name;
  jobspec::Value model;
  InputShape data;
  int batch;
};

/// For GoogleTest's messages.
inline void PrintTo(const ModelCase& c, std::ostream* out) {
  *out << c.name;
}

/// 3-D convolutions 16-32-64-128-256, each with leaky relu and max pool 2, then linear 128-64.
inline jobspec::Value small_cnn3d() {
  using jobspec::List;
  using jobspec::Map;
  List layers;
  for (const int channels : {16, 32, 64, 128, 256}) {
    layers.push_back(
        Map{{"kind", "conv3d"}, {"channels", channels}, {"kernel", 3}, {"padding", 1}});
    layers.push_back(Map{{"kind", "leaky_relu"}});
    layers.push_back(Map{{"kind", "max_pool3d"}, {"kernel", 2}});
  }
  layers.push_back(Map{{"kind", "flatten"}});
  for (const int outputs : {128, 64}) {
    layers.push_back(Map{{"kind", "linear"}, {"outputs", outputs}});
    layers.push_back(Map{{"kind", "leaky_relu"}});
  }
  layers.push_back(Map{{"kind", "linear"}, {"outputs", "auto"}});
  return Map{{"name", "graph"}, {"layers", std::move(layers)}};
}

inline const std::vector<ModelCase>& model_cases() {
  using jobspec::Map;
  static const std::vector<ModelCase> cases{
      {"mlp", Map{{"name", "mlp"}}, {{784}, 10}, 128},
      {"lenet", Map{{"name", "lenet"}}, {{1, 28, 28}, 10}, 128},
      {"resnet18", Map{{"name", "resnet"}, {"stem", "cifar"}}, {{1, 32, 32}, 10}, 32},
      {"gpt", Map{{"name", "gpt"}}, {{128}, 256, 128, 0, 256}, 16},
      {"cnn3d", small_cnn3d(), {{4, 32, 32, 32}, 0, 0, 4}, 4},
      {"lstm", Map{{"name", "lstm"}, {"layers", 2}, {"width", 256}}, {{64, 64}, 10}, 32},
  };
  return cases;
}

/// Those that fill a GPU, at the batch at which they are measured there.
inline const std::vector<ModelCase>& gpu_model_cases() {
  using jobspec::Map;
  const auto text = [](std::int64_t positions, int tokens) {
    return InputShape{{positions}, tokens, positions, 0, tokens};
  };
  static const std::vector<ModelCase> cases{
      {"resnet50",
       Map{{"name", "resnet"}, {"depth", 50}, {"stem", "imagenet"}},
       {{3, 224, 224}, 1000},
       256},
      {"gpt2", Map{{"name", "gpt"}, {"layers", 12}, {"heads", 12}, {"width", 768}},
       text(1024, 50304), 16},
      {"bert_large", Map{{"name", "bert"}, {"layers", 24}, {"heads", 16}, {"width", 1024}},
       text(512, 30528), 16},
      {"cosmoflow", Map{{"name", "cosmoflow"}}, {{4, 128, 128, 128}, 0, 0, 4}, 16},
      {"unet3d", Map{{"name", "unet"}}, {{1, 64, 64, 64}, 2, 64 * 64 * 64}, 4},
      {"lstm_large", Map{{"name", "lstm"}, {"layers", 2}, {"width", 1024}}, {{128, 256}, 10}, 128},
  };
  return cases;
}

}  // namespace thalweg::engine::test
