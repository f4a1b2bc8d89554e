// batch_norm on oneDNN's batch normalisation, a following relu joined; the batch's mean and
// variance go straight to the statistics.
#include "engine/device/cpu/builder.h"
#include "engine/device/cpu/layer.h"

namespace thalweg::engine::cpu {

TensorId batch_norm(Builder& b, const Node& node, TensorId input) {
  using dnnl::normalization_flags;
  if (node.layer->flag("sync")) return batch_norm_over_shards(b, node, input);
  const std::int64_t channels = node.layer->in[0];
  const auto count = static_cast<std::size_t>(channels);
  const auto epsilon = static_cast<float>(node.layer->real("epsilon"));
  const int weight = node.first_parameter;
  auto flags = normalization_flags::use_scale | normalization_flags::use_shift;
  if (node.relu) flags = flags | normalization_flags::fuse_norm_relu;
  const bool wants_dx = b.wants_input_gradient();
  // As features, images of one pixel with the channels last: oneDNN has a fast kernel for those.
  const TensorId plain = b.in_plain_order(Builder::Pass::both, input);
  const Desc given = b.desc(plain);
  const bool features = dims_of(given).size() == 2;
  const Desc images =
      features ? Desc({dims_of(given)[0], channels, 1, 1}, type_of(given), Tag::acdb) : given;
  const TensorId x = b.view(plain, images, nullptr);
  const Desc row({channels}, f32, Tag::a);
  const TensorId scale = b.parameter(weight, row, row), shift = b.parameter(weight + 1, row, row);
  const TensorId mean = b.statistic(node.statistics, row);
  const TensorId variance = b.statistic(node.statistics + count, row);
  const TensorId y = b.activation(images);

  const auto training = batch_norm_forward(images, epsilon, flags, true);
  const bool keeps = node.relu && training.workspace_desc().get_size() > 0;
  const TensorId mask = keeps ? b.activation(training.workspace_desc()) : -1;
  Arguments arguments{{DNNL_ARG_SRC, x},       {DNNL_ARG_DST, y},
                      {DNNL_ARG_SCALE, scale}, {DNNL_ARG_SHIFT, shift},
                      {DNNL_ARG_MEAN, mean},   {DNNL_ARG_VARIANCE, variance}};
  if (keeps) arguments.emplace_back(DNNL_ARG_WORKSPACE, mask);
  b.primitive(Builder::Pass::training, training, arguments);
  b.primitive(
      Builder::Pass::evaluation,
      batch_norm_forward(images, epsilon, flags | normalization_flags::use_global_stats, false),
      {{DNNL_ARG_SRC, x},
       {DNNL_ARG_DST, y},
       {DNNL_ARG_SCALE, scale},
       {DNNL_ARG_SHIFT, shift},
       {DNNL_ARG_MEAN, b.running(node.statistics, row)},
       {DNNL_ARG_VARIANCE, b.running(node.statistics + count, row)}});

  b.on_backward([=, &b](TensorId dy) {
    dy = b.view(b.in_layout(Builder::Pass::backward, dy, given), images, nullptr);
    const TensorId dx = b.activation(images);
    Arguments backward_arguments{{DNNL_ARG_SRC, x},
                                 {DNNL_ARG_MEAN, mean},
                                 {DNNL_ARG_VARIANCE, variance},
                                 {DNNL_ARG_DIFF_DST, dy},
                                 {DNNL_ARG_SCALE, scale},
                                 {DNNL_ARG_SHIFT, shift},
                                 {DNNL_ARG_DIFF_SRC, dx},
                                 {DNNL_ARG_DIFF_SCALE, b.gradient(weight)},
                                 {DNNL_ARG_DIFF_SHIFT, b.gradient(weight + 1)}};
    if (keeps) backward_arguments.emplace_back(DNNL_ARG_WORKSPACE, mask);
    b.primitive(Builder::Pass::backward, batch_norm_backward(images, epsilon, flags, training),
                backward_arguments);
    b.ready(weight);
    b.ready(weight + 1);
    return wants_dx ? b.out_of_plain_order(b.view(dx, given, nullptr), input) : dx;
  });
  return b.view(y, given, nullptr);
}

}  // namespace thalweg::engine::cpu
