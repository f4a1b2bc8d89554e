#include "engine/gpu/cudnn_convolution.h"

#include <numeric>

#include "engine/gpu/library_loops.h"
#include "engine/gpu/names.h"

namespace thalweg::engine::gpu {
namespace {

using Pass = Convolution::Pass;

cudnnDataType_t type_of(Type type) {
  return type == Type::f32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
}

/// cuDNN names sizes with the channels second, however they lie in memory: here innermost.
struct Layout {
  Layout(std::int64_t outer, std::int64_t channels, const Sizes& inner)
      : sizes{outer, channels}, strides(inner.size() + 2) {
    sizes.insert(sizes.end(), inner.begin(), inner.end());
    strides[1] = 1;
    std::int64_t step = channels;
    for (std::size_t d = sizes.size() - 1; d > 1; --d) {
      strides[d] = step;
      step *= sizes[d];
    }
    strides[0] = step;
  }
  Sizes sizes, strides;
};

CudnnDescriptor window_of(const Convolution& c) {
  const std::size_t directions = c.in.size();
  CudnnDescriptor window(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  return window.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, CUDNN_DATA_FLOAT)
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, CUDNN_CROSS_CORRELATION)
      .set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<std::int64_t>(directions))
      .set(CUDNN_ATTR_CONVOLUTION_DILATIONS, Sizes(directions, 1))
      .set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, Sizes(directions, c.stride))
      .set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, Sizes(directions, c.padding))
      .set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, Sizes(directions, c.padding))
      .finalize();
}

/// The attributes of each pass's operation have names of their own.
struct Names {
  cudnnBackendDescriptorType_t operation;
  cudnnBackendAttributeName_t x, w, y, window, alpha, beta;
};
Names names_of(Pass pass) {
  switch (pass) {
    case Pass::forward:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    case Pass::backward_data:
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    case Pass::backward_weights:
      break;
  }
  return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
          CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
}

std::size_t up(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

class CudnnConvolution final : public Call {
 public:
  CudnnConvolution(CudnnTarget& target, const Convolution& shape) : shape_(shape) {
    const CudnnRules rules{shape.type == Type::bf16 || shape.products == Products::tf32};
    std::string why;
    const auto plan = [&](const ConvolutionParts& parts) {
      try {
        plans_ = std::make_unique<CudnnPlans>(target, graph_of(shape, parts), rules);
        parts_ = parts;
        return !plans_->none();
      } catch (const GpuError& error) {
        why = error.what();
        return false;
      }
    };
    // What cuDNN cannot fuse, a loop of our own does after it.
    if (plan({shape.bias, shape.relu, true}) || plan({false, false, true}) ||
        plan({false, false, false}))
      return;
    throw GpuError("cuDNN has no engine for the " + name() + (why.empty() ? "" : ": " + why));
  }

  std::string name() const override { return name_of(shape_); }
  std::string key() const override { return key_of(shape_); }
  int ways() const override { return plans_->count(); }
  std::string way_name(int way) const override { return plans_->name(way); }
  std::size_t workspace(int way) const override { return copy_bytes() + plans_->workspace(way); }

  void run(Queue& queue, std::span<void* const> tensors, void* workspace) const override {
    if (workspace == nullptr && this->workspace(chosen()) > 0)
      throw GpuError(name() + " runs without its workspace");
    std::vector<void*> at(tensors.begin(), tensors.begin() + 3);
    std::vector<std::int64_t> ids{1, 2, 3};
    const auto* const bias = shape_.bias ? static_cast<const float*>(tensors[3]) : nullptr;
    auto* const copy = static_cast<Bf16*>(workspace);
    if (parts_.bias) {
      ids.push_back(4);
      at.push_back(tensors[3]);
      if (shape_.type == Type::bf16) {
        narrow(queue, shape_.k, bias, copy);
        at[3] = copy;
      }
    }
    if (narrow_weights()) at[2] = copy;
    plans_->run(queue, chosen(), ids, at, static_cast<char*>(workspace) + copy_bytes());
    if (narrow_weights()) widen(queue, weights(), copy, static_cast<float*>(tensors[2]));
    if ((shape_.bias && !parts_.bias) || (shape_.relu && !parts_.relu)) {
      const std::int64_t rows =
          std::accumulate(shape_.out.begin(), shape_.out.end(), shape_.n, std::multiplies<>());
      add_bias(queue, shape_.type, rows, shape_.k, shape_.k, tensors[2], bias, shape_.relu);
    }
  }

 private:
  std::int64_t weights() const {
    return std::accumulate(shape_.kernel.begin(), shape_.kernel.end(), shape_.k * shape_.c,
                           std::multiplies<>());
  }
  bool narrow_weights() const {
    return shape_.pass == Pass::backward_weights && shape_.type == Type::bf16 &&
           !parts_.float_weights;
  }
  /// A bias or weights in the type of x, at the workspace's begin.
  std::size_t copy_bytes() const {
    if (parts_.bias && shape_.type == Type::bf16)
      return up(static_cast<std::size_t>(shape_.k) * sizeof(Bf16));
    return narrow_weights() ? up(static_cast<std::size_t>(weights()) * sizeof(Bf16)) : 0;
  }

  Convolution shape_;
  ConvolutionParts parts_;
  std::unique_ptr<CudnnPlans> plans_;
};

}  // namespace

CudnnGraph graph_of(const Convolution& c, const ConvolutionParts& parts) {
  const cudnnDataType_t type = type_of(c.type);
  const Layout in(c.n, c.c, c.in), kernel(c.k, c.c, c.kernel), out(c.n, c.k, c.out);
  const bool weights = c.pass == Pass::backward_weights;
  // Engines that widen what they write do so in a pointwise operation.
  const bool widens = weights && type != CUDNN_DATA_FLOAT && parts.float_weights;
  const bool fuses = parts.bias || parts.relu;
  CudnnGraph graph;
  const auto between = [&](const Layout& layout) {
    return graph.between(CUDNN_DATA_FLOAT, layout.sizes, layout.strides);
  };
  const auto real = [&](std::int64_t id, const Layout& layout) {
    return graph.tensor(id, type, layout.sizes, layout.strides);
  };
  const std::int64_t number_x = c.pass == Pass::backward_data ? 3 : 1;
  const std::int64_t number_y = c.pass == Pass::backward_data ? 1 : weights ? 2 : 3;
  const CudnnDescriptor x = real(number_x, in);
  const CudnnDescriptor w = widens ? between(kernel) : real(weights ? 3 : 2, kernel);
  const CudnnDescriptor y = fuses ? between(out) : real(number_y, out);
  const Names names = names_of(c.pass);
  CudnnDescriptor operation(names.operation);
  graph.add(operation.set(names.x, x)
                .set(names.w, w)
                .set(names.y, y)
                .set(names.window, window_of(c))
                .set(names.alpha, 1.0f)
                .set(names.beta, 0.0f)
                .finalize());
  if (widens)
    graph.pointwise(CUDNN_POINTWISE_IDENTITY, w,
                    graph.tensor(3, CUDNN_DATA_FLOAT, kernel.sizes, kernel.strides));
  if (parts.bias) {
    const Layout one(1, c.k, Sizes(c.in.size(), 1));
    const CudnnDescriptor bias = real(4, one);
    const CudnnDescriptor sum = parts.relu ? between(out) : real(3, out);
    graph.pointwise(CUDNN_POINTWISE_ADD, y, sum, &bias);
    if (parts.relu) graph.pointwise(CUDNN_POINTWISE_RELU_FWD, sum, real(3, out));
  } else if (parts.relu) {
    graph.pointwise(CUDNN_POINTWISE_RELU_FWD, y, real(3, out));
  }
  return graph;
}

std::unique_ptr<Call> cudnn_convolution(CudnnTarget& target, const Convolution& shape) {
  return std::make_unique<CudnnConvolution>(target, shape);
}

}  // namespace thalweg::engine::gpu
