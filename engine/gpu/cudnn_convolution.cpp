#include "engine/gpu/cudnn_convolution.h"

#include <numeric>
#include <utility>

#include "engine/gpu/library_loops.h"
#include "engine/gpu/names.h"

namespace thalweg::engine::gpu {
namespace {

using Pass = Convolution::Pass;

cudnnDataType_t cudnn_type(Type type) {
  return type == Type::f32 ? CUDNN_DATA_FLOAT : CUDNN_DATA_BFLOAT16;
}

/// cuDNN names sizes with the channels second, however they lie in memory: here innermost.
struct TensorLayout {
  TensorLayout(std::int64_t outer, std::int64_t channels, const Sizes& inner)
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

/// Its algorithms are those of one graph, or of two after one another: gradients of bf16 weights
/// are written in bf16 and widened by a loop of ours, for which cuDNN has many engines; or written
/// as floats, for which it has one that is compiled and adds up all samples in one block for each
/// tile, so that only a clock can say where it is the faster one.
class CudnnConvolution final : public Call {
 public:
  CudnnConvolution(CudnnTarget& target, const Convolution& shape) : target_(target), shape_(shape) {
    if (shape.pass == Pass::backward_weights && shape.type == Type::bf16) {
      add({false, false, false});
      add({false, false, true});
      for (const Part& part : parts_)
        if (part.plans->has(0)) return;
    } else {
      // What cuDNN cannot fuse, a loop of our own does after it.
      add({shape.bias, shape.relu, true});
      if (parts_[0].plans->has(0)) return;
      if (shape.bias || shape.relu) {
        note_refusal(name(), "not with its bias and relu: " + parts_[0].plans->why_none());
        parts_.clear();
        add({false, false, true});
        if (parts_[0].plans->has(0)) return;
      }
    }
    throw GpuError("cuDNN has no engine for the " + name() + ": " + parts_[0].plans->why_none());
  }

  std::string name() const override { return name_of(shape_); }
  std::string key() const override { return key_of(shape_); }
  int algorithms() const override {
    int algorithms = 0;
    for (const Part& part : parts_)
      algorithms += count(part);
    return algorithms;
  }
  std::string algorithm_name(int algorithm) const override {
    const auto [part, number] = find(algorithm);
    if (part == nullptr) return "";
    return part->plans->name(number) + (part == parts_.data() ? "" : " in floats");
  }
  std::size_t workspace(int algorithm) const override {
    const auto [part, number] = find(algorithm);
    if (part == nullptr) throw GpuError(name() + " has no algorithm " + std::to_string(algorithm));
    return copy_bytes(*part) + part->plans->workspace(number);
  }

  void run(Stream& stream, std::span<void* const> tensors, void* workspace) const override {
    if (workspace == nullptr && this->workspace(chosen()) > 0)
      throw GpuError(name() + " runs without its workspace");
    const auto [part, number] = find(chosen());
    std::vector<void*> at(tensors.begin(), tensors.begin() + 3);
    std::vector<std::int64_t> ids{1, 2, 3};
    void* const bias = shape_.bias ? tensors[3] : nullptr;
    auto* const copy = static_cast<Bf16*>(workspace);
    if (part->is.bias) {
      ids.push_back(4);
      at.push_back(bias);
    }
    if (narrow_weights(*part)) at[2] = copy;
    part->plans->run(stream, number, ids, at, static_cast<char*>(workspace) + copy_bytes(*part));
    if (narrow_weights(*part)) widen(stream, weights(), copy, static_cast<float*>(tensors[2]));
    if ((shape_.bias && !part->is.bias) || (shape_.relu && !part->is.relu)) {
      const std::int64_t rows =
          std::accumulate(shape_.out.begin(), shape_.out.end(), shape_.n, std::multiplies<>());
      add_bias(stream, shape_.type, rows, shape_.k, shape_.k, tensors[2], bias, shape_.relu);
    }
  }

 private:
  /// A graph of one form.
  struct Part {
    ConvolutionParts is;
    std::shared_ptr<const CudnnPlans> plans;
  };

  void add(const ConvolutionParts& parts) {
    Convolution shape = shape_;
    shape.bias = parts.bias, shape.relu = parts.relu;
    const CudnnRules rules{shape.type == Type::bf16 || shape.products == Products::tf32};
    parts_.push_back({parts, target_.plans(
                                 key_of(shape) + (parts.float_weights ? " floats" : ""), name(),
                                 [&] { return graph_of(shape, parts); }, rules)});
  }
  /// One is left for the second form.
  int most(const Part& part) const {
    return parts_.size() == 1       ? CudnnPlans::kAlgorithms
           : &part == parts_.data() ? CudnnPlans::kAlgorithms - 1
                                    : 1;
  }
  int count(const Part& part) const { return part.plans->count(most(part)); }
  /// Null: no such algorithm. Makes no plan of a later one.
  std::pair<const Part*, int> find(int algorithm) const {
    for (const Part& part : parts_) {
      if (algorithm < most(part) && part.plans->has(algorithm)) return {&part, algorithm};
      algorithm -= count(part);
      if (algorithm < 0) break;
    }
    return {nullptr, 0};
  }

  std::int64_t weights() const {
    return std::accumulate(shape_.kernel.begin(), shape_.kernel.end(), shape_.k * shape_.c,
                           std::multiplies<>());
  }
  bool narrow_weights(const Part& part) const {
    return shape_.pass == Pass::backward_weights && shape_.type == Type::bf16 &&
           !part.is.float_weights;
  }
  /// Of weights in the type of x, at the workspace's begin.
  std::size_t copy_bytes(const Part& part) const {
    return narrow_weights(part) ? up(static_cast<std::size_t>(weights()) * sizeof(Bf16)) : 0;
  }

  CudnnTarget& target_;
  Convolution shape_;
  std::vector<Part> parts_;  ///< at most 2
};

}  // namespace

CudnnGraph graph_of(const Convolution& c, const ConvolutionParts& parts) {
  const cudnnDataType_t type = cudnn_type(c.type);
  const TensorLayout in(c.n, c.c, c.in), kernel(c.k, c.c, c.kernel), out(c.n, c.k, c.out);
  const bool weights = c.pass == Pass::backward_weights;
  // Engines that widen what they write do so in a pointwise operation.
  const bool widens = weights && type != CUDNN_DATA_FLOAT && parts.float_weights;
  const bool fuses = parts.bias || parts.relu;
  CudnnGraph graph;
  const auto between = [&](const TensorLayout& layout) {
    return graph.between(CUDNN_DATA_FLOAT, layout.sizes, layout.strides);
  };
  const auto real = [&](std::int64_t id, const TensorLayout& layout) {
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
    const TensorLayout one(1, c.k, Sizes(c.in.size(), 1));
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
