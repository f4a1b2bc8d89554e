// batch_norm on oneDNN's batch normalisation, a following relu joined; the batch's mean and
// variance go straight to the statistics.
#include "engine/layers/batch_norm/cpu.h"

#include "engine/layers/batch_norm/options.h"

namespace thalweg::engine::cpu {

BatchNorm::BatchNorm(Builder& b, const Node& node, TensorId input)
    : channels(node.layer->in[0]),
      epsilon(static_cast<float>(node.layer->options_as<BatchNormOptions>().epsilon)),
      weight(node.first_parameter),
      wants_dx(b.wants_input_gradient()),
      row({channels}, f32, Tag::a),
      relu_(node.relu),
      input_(input) {
  const TensorId plain = b.in_plain_order(Builder::Pass::both, input);
  outside_ = b.desc(plain);
  // As features, images of one pixel with the channels last: oneDNN has a fast kernel for those.
  const bool features = dims_of(outside_).size() == 2;
  images = features ? Desc({dims_of(outside_)[0], channels, 1, 1}, type_of(outside_), Tag::acdb)
                    : outside_;
  x = b.view(plain, images, nullptr);
  scale = b.parameter(weight, row, row);
  shift = b.parameter(weight + 1, row, row);
  const std::size_t means = node.statistics, variances = means + static_cast<std::size_t>(channels);
  mean = b.statistic(means, row);
  variance = b.statistic(variances, row);
  running_mean_ = b.running(means, row);
  running_variance_ = b.running(variances, row);
  y = b.activation(images);
}

Arguments BatchNorm::arguments(TensorId to) const {
  return {{DNNL_ARG_SRC, x},       {DNNL_ARG_DST, to},    {DNNL_ARG_SCALE, scale},
          {DNNL_ARG_SHIFT, shift}, {DNNL_ARG_MEAN, mean}, {DNNL_ARG_VARIANCE, variance}};
}

void BatchNorm::normalize(Builder& b, Flags moments) {
  flags_ = relu_ ? moments | Flags::fuse_norm_relu : moments;
  training_ = batch_norm_forward(images, epsilon, flags_, true);
  Arguments training = arguments(y);
  if (relu_ && training_.workspace_desc().get_size() > 0) {
    mask_ = b.activation(training_.workspace_desc());
    training.emplace_back(DNNL_ARG_WORKSPACE, mask_);
  }
  b.primitive(Builder::Pass::training, training_, training);
  b.primitive(Builder::Pass::evaluation,
              batch_norm_forward(images, epsilon, flags_ | Flags::use_global_stats, false),
              {{DNNL_ARG_SRC, x},
               {DNNL_ARG_DST, y},
               {DNNL_ARG_SCALE, scale},
               {DNNL_ARG_SHIFT, shift},
               {DNNL_ARG_MEAN, running_mean_},
               {DNNL_ARG_VARIANCE, running_variance_}});
}

TensorId BatchNorm::add_gradients(Builder& b, TensorId dy) const {
  dy = b.view(b.in_layout(Builder::Pass::backward, dy, outside_), images, nullptr);
  const TensorId dx = b.activation(images);
  Arguments gradients {
    {DNNL_ARG_SRC, x}, {DNNL_ARG_MEAN, mean}, {DNNL_ARG_VARIANCE, variance},
        {DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_SCALE, scale},
#if DNNL_VERSION_MAJOR < 3  // later ones refuse what the gradients do not depend on
        {DNNL_ARG_SHIFT, shift},
#endif
        {DNNL_ARG_DIFF_SRC, dx}, {DNNL_ARG_DIFF_SCALE, b.gradient(weight)}, {
      DNNL_ARG_DIFF_SHIFT, b.gradient(weight + 1)
    }
  };
  if (mask_ >= 0) gradients.emplace_back(DNNL_ARG_WORKSPACE, mask_);
  b.primitive(Builder::Pass::backward, batch_norm_backward(images, epsilon, flags_, training_),
              gradients);
  return dx;
}

void BatchNorm::ready(Builder& b) const {
  b.ready(weight);
  b.ready(weight + 1);
}

TensorId BatchNorm::input_gradient(Builder& b, TensorId dx) const {
  return wants_dx ? b.out_of_plain_order(b.view(dx, outside_, nullptr), input_) : dx;
}

TensorId batch_norm(Builder& b, const Node& node, TensorId input) {
  if (node.layer->joins_shards) return batch_norm_over_shards(b, node, input);
  BatchNorm norm(b, node, input);
  norm.normalize(b, BatchNorm::measured());
  b.on_backward([norm, &b](TensorId dy) {
    const TensorId dx = norm.add_gradients(b, dy);
    norm.ready(b);
    return norm.input_gradient(b, dx);
  });
  return norm.output(b);
}

}  // namespace thalweg::engine::cpu
