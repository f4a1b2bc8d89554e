// Models ready to train, and small ones of every family.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/device/executor.h"
#include "engine/nn/model.h"
#include "engine/tensor/buffer.h"
#include "jobspec/value.h"

namespace thalweg::engine::test {

/// A model with its memories, ready to train.
struct Training {
  Training(const jobspec::Value& value, const InputShape& input, int samples,
           const std::string& device, Precision precision = Precision::fp32)
      : model(build_model(value, input, samples, device, {}, precision)),
        executor(model->executor()),
        parameters(Buffer::of_floats(model->parameter_floats())),
        gradients(Buffer::of_floats(model->parameter_floats())),
        statistics(model->statistics()),
        running(model->statistics()) {
    model->initialize(3, parameters.floats(), running.data());
  }

  ShardResult train(const Batch& batch) {
    return executor->train(parameters.floats(), batch, 1.0f / static_cast<float>(batch.samples),
                           gradients.floats(), statistics.data(), {});
  }

  /// One step of gradient descent.
  void descend(float rate) {
    for (std::size_t i = 0; i < model->parameter_floats(); ++i)
      parameters.floats()[i] -= rate * gradients.floats()[i];
  }

  std::vector<float> plain(const Buffer& device) const {
    std::vector<float> plain(static_cast<std::size_t>(model->parameter_count()));
    model->to_plain(device.floats(), plain.data());
    return plain;
  }

  std::unique_ptr<Model> model;
  std::unique_ptr<Executor> executor;
  Buffer parameters, gradients;
  std::vector<float> statistics, running;
};

/// A model, its data and a rate at which it learns.
struct Learner {
  jobspec::Map model;
  InputShape shape;
  float rate = 0.01f;
};

inline std::vector<Learner> learners() {
  using jobspec::Map;
  return {
      {Map{{"name", "simple_cnn"}}, {{1, 8, 8}, 4}},
      {Map{{"name", "resnet"}}, {{1, 8, 8}, 4}},
      {Map{{"name", "resnet"}, {"depth", 50}}, {{3, 4, 4}, 4}},
      {Map{{"name", "gpt"}, {"layers", 2}, {"heads", 2}, {"width", 16}}, {{6}, 9, 6, 0, 9}},
      {Map{{"name", "bert"}, {"layers", 2}, {"heads", 2}, {"width", 16}, {"dropout", 0.1}},
       {{6}, 9, 6, 0, 9}},
      {Map{{"name", "encoder_decoder"}, {"layers", 2}, {"heads", 2}, {"width", 16}},
       {{6}, 9, 6, 0, 9}},
      {Map{{"name", "encoder_decoder"}, {"layers", 1}, {"width", 8}, {"source", 2}},
       {{7}, 5, 7, 0, 5}},
      {Map{{"name", "lstm_lm"}, {"width", 12}, {"dropout", 0.1}}, {{6}, 9, 6, 0, 9}, 1},
      {Map{{"name", "lstm"}, {"width", 10}, {"layers", 2}}, {{7, 5}, 3}, 0.1f},
      {Map{{"name", "conv_lstm"}, {"width", 16}, {"channels", 4}, {"embedding", 8}},
       {{1, 8, 8, 8}, 0, 0, 5}},
      {Map{{"name", "unet"}, {"depth", 2}, {"channels", 8}}, {{2, 8, 12}, 3, 96}},
      {Map{{"name", "unet"}, {"depth", 1}, {"channels", 4}}, {{1, 4, 6, 4}, 2, 96}},
      {Map{{"name", "flood_filling"}, {"modules", 2}, {"channels", 8}}, {{2, 5, 6, 4}, 0, 0, 120}},
      {Map{{"name", "cosmoflow"}, {"channels", 2}}, {{2, 32, 32, 32}, 0, 0, 3}},
  };
}

}  // namespace thalweg::engine::test
