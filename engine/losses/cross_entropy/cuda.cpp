// cross_entropy: the passes of cuda_kernels.h as operations.
#include "engine/losses/cross_entropy/cuda_kernels.h"
#include "engine/losses/cross_entropy/options.h"
#include "engine/losses/cuda_labels.h"

namespace thalweg::engine::cuda {
namespace {

CrossEntropyShape shape_of(const Builder& b, const LossPlan& plan) {
  CrossEntropyShape shape;
  shape.samples = b.samples();
  shape.positions = plan.positions;
  shape.classes = plan.data.classes;
  const double smoothing = plan.options_as<CrossEntropyOptions>().smoothing;
  double sum = 0;
  for (int c = 0; c < plan.data.classes; ++c)
    sum += plan.weight(c);
  shape.spread = static_cast<float>(smoothing / plan.data.classes);
  shape.kept = static_cast<float>(1 - smoothing);
  shape.weight_sum = static_cast<float>(sum);
  shape.images = plan.of_images();
  return shape;
}

}  // namespace

TensorId cross_entropy(Builder& b, TensorId output) {
  const LossPlan& plan = b.loss();
  const CrossEntropyShape shape = shape_of(b, plan);
  const LabelTensors labels = add_labels(b, output, true);
  const TensorId given = b.labels(), labels_b = b.labels_b(), parts = b.shares_b();
  const TensorId weights =
      plan.weights.empty()
          ? -1
          : b.constant(std::vector<float>(plan.weights.begin(), plan.weights.end()));
  const TensorId sums = b.scratch(cross_entropy_parts(shape), sizeof(LossSums));
  const TensorId gradient = b.narrow_loss_gradient(output), result = b.result();
  const Type logits = b.desc(output).type, type = b.desc(gradient).type;
  for (const bool training : {true, false}) {
    const TensorId to = training ? gradient : -1;
    b.loss_kernel({output, sums, labels.drawn, labels.shares, to}, training,
                  [=](const Frame& frame) {
                    const CrossEntropyInputs inputs{
                        logits,
                        frame.as<void>(output),
                        labels_of(frame, labels, given, training),
                        frame.blended ? frame.as<std::int32_t>(labels_b) : nullptr,
                        frame.floats(parts),
                        frame.floats(labels.shares),
                        frame.floats(weights),
                        frame.key};
                    cross_entropy(frame.stream, shape, inputs, type, frame.as<void>(to),
                                  frame.as<LossSums>(sums), frame.as<double>(result));
                  });
  }
  return gradient;
}

}  // namespace thalweg::engine::cuda
