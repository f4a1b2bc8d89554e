// oneDNN in one place: what differs between 2.x (operation descriptors) and 3.x (none) is hidden
// here, and every primitive gets its scratch memory from the caller.
#pragma once

#include <dnnl.hpp>

namespace thalweg::engine::cpu {

using Desc = dnnl::memory::desc;
using Dims = dnnl::memory::dims;
using Tag = dnnl::memory::format_tag;

/// Of the elements.
using Type = dnnl::memory::data_type;

inline constexpr auto f32 = Type::f32;
inline constexpr auto bf16 = Type::bf16;

inline Dims dims_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_dims();
#else
  return desc.dims();
#endif
}

inline Type type_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return desc.get_data_type();
#else
  return desc.data_type();
#endif
}
inline std::size_t size_of(Type type) {
  return dnnl::memory::data_type_size(type);
}
/// Elements in memory, padding included.
inline std::size_t count_of(const Desc& desc) {
  return desc.get_size() / size_of(type_of(desc));
}

/// Layouts made of strides between blocks, and of what lies in a block, outermost first.
struct Blocking {
  Dims padded, strides, sizes, dimensions;

  bool operator==(const Blocking&) const = default;
};
inline Blocking blocking_of(const Desc& desc) {
#if DNNL_VERSION_MAJOR >= 3
  return {desc.get_padded_dims(), desc.get_strides(), desc.get_inner_blks(), desc.get_inner_idxs()};
#else
  const auto& of = desc.data.format_desc.blocking;
  const auto list = [](const auto* first, int count) { return Dims(first, first + count); };
  return {list(desc.data.padded_dims, desc.data.ndims), list(of.strides, desc.data.ndims),
          list(of.inner_blks, of.inner_nblks), list(of.inner_idxs, of.inner_nblks)};
#endif
}

/// True where the processor multiplies bfloat16 itself; oneDNN would otherwise imitate it, slower
/// than fp32.
inline bool has_bf16() {
  const auto bits = [](dnnl::cpu_isa isa) { return static_cast<unsigned>(isa); };
  const unsigned wanted = bits(dnnl::cpu_isa::avx512_core_bf16);
  return (bits(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

/// The layout that shapes are said in, outermost first, for 1 to 5 dimensions.
inline Tag plain_tag(std::size_t dimensions) {
  constexpr Tag tags[] = {Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
  return tags[dimensions - 1];
}
inline Desc plain_desc(const Dims& dims, Type type = f32) {
  return Desc(dims, type, plain_tag(dims.size()));
}

/// The process's one CPU engine. Thread-safe.
inline const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

inline dnnl::primitive_attr attributes(bool relu) {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (!relu) return attr;
  dnnl::post_ops ops;
#if DNNL_VERSION_MAJOR >= 3
  ops.append_eltwise(dnnl::algorithm::eltwise_relu, 0, 0);
#else
  ops.append_eltwise(1, dnnl::algorithm::eltwise_relu, 0, 0);
#endif
  attr.set_post_ops(ops);
  return attr;
}

/// The result is added to what stands there.
inline dnnl::primitive_attr adding() {
  dnnl::primitive_attr attr = attributes(false);
  dnnl::post_ops ops;
  ops.append_sum(1.0f);
  attr.set_post_ops(ops);
  return attr;
}

/// Stride, kernel and padding of a window in every direction.
struct WindowDims {
  Dims size, stride, padding;
};

/// Padding at the far side: what the output needs, which the near side's padding may exceed.
inline Dims far_padding(const WindowDims& w, const Dims& in, const Dims& out) {
  Dims far;
  for (std::size_t d = 0; d < w.size.size(); ++d)
    far.push_back((out[d + 2] - 1) * w.stride[d] + w.size[d] - in[d + 2] - w.padding[d]);
  return far;
}

struct Convolution {
  dnnl::algorithm algorithm;
  Desc src, weights, bias, dst;  ///< bias may be empty
  WindowDims window;
  Dims far;
};

#if DNNL_VERSION_MAJOR >= 3

inline auto forward(const Convolution& c, bool relu) {
  return dnnl::convolution_forward::primitive_desc(
      cpu_engine(), dnnl::prop_kind::forward_training, c.algorithm, c.src, c.weights, c.bias, c.dst,
      c.window.stride, c.window.padding, c.far, attributes(relu));
}
inline auto backward_weights(const Convolution& c,
                             const dnnl::convolution_forward::primitive_desc& hint) {
  return dnnl::convolution_backward_weights::primitive_desc(
      cpu_engine(), c.algorithm, c.src, c.weights, c.bias, c.dst, c.window.stride, c.window.padding,
      c.far, hint, attributes(false));
}
inline auto backward_data(const Convolution& c,
                          const dnnl::convolution_forward::primitive_desc& hint) {
  return dnnl::convolution_backward_data::primitive_desc(
      cpu_engine(), c.algorithm, c.src, c.weights, c.dst, c.window.stride, c.window.padding, c.far,
      hint, attributes(false));
}

#else

inline auto forward(const Convolution& c, bool relu) {
  return dnnl::convolution_forward::primitive_desc(
      {dnnl::prop_kind::forward_training, c.algorithm, c.src, c.weights, c.bias, c.dst,
       c.window.stride, c.window.padding, c.far},
      attributes(relu), cpu_engine());
}
inline auto backward_weights(const Convolution& c,
                             const dnnl::convolution_forward::primitive_desc& hint) {
  return dnnl::convolution_backward_weights::primitive_desc(
      {c.algorithm, c.src, c.weights, c.bias, c.dst, c.window.stride, c.window.padding, c.far},
      attributes(false), cpu_engine(), hint);
}
inline auto backward_data(const Convolution& c,
                          const dnnl::convolution_forward::primitive_desc& hint) {
  return dnnl::convolution_backward_data::primitive_desc(
      {c.algorithm, c.src, c.weights, c.dst, c.window.stride, c.window.padding, c.far},
      attributes(false), cpu_engine(), hint);
}

#endif

struct InnerProduct {
  Desc src, weights, bias, dst;  ///< bias may be empty
};

#if DNNL_VERSION_MAJOR >= 3

inline auto forward(const InnerProduct& p, const dnnl::primitive_attr& attr) {
  return dnnl::inner_product_forward::primitive_desc(
      cpu_engine(), dnnl::prop_kind::forward_training, p.src, p.weights, p.bias, p.dst, attr);
}
inline auto backward_weights(const InnerProduct& p,
                             const dnnl::inner_product_forward::primitive_desc& hint) {
  return dnnl::inner_product_backward_weights::primitive_desc(
      cpu_engine(), p.src, p.weights, p.bias, p.dst, hint, attributes(false));
}
inline auto backward_data(const InnerProduct& p,
                          const dnnl::inner_product_forward::primitive_desc& hint) {
  return dnnl::inner_product_backward_data::primitive_desc(cpu_engine(), p.src, p.weights, p.dst,
                                                           hint, attributes(false));
}

#else

inline auto forward(const InnerProduct& p, const dnnl::primitive_attr& attr) {
  return dnnl::inner_product_forward::primitive_desc(
      {dnnl::prop_kind::forward_training, p.src, p.weights, p.bias, p.dst}, attr, cpu_engine());
}
inline auto backward_weights(const InnerProduct& p,
                             const dnnl::inner_product_forward::primitive_desc& hint) {
  return dnnl::inner_product_backward_weights::primitive_desc(
      {p.src, p.weights, p.bias, p.dst}, attributes(false), cpu_engine(), hint);
}
inline auto backward_data(const InnerProduct& p,
                          const dnnl::inner_product_forward::primitive_desc& hint) {
  return dnnl::inner_product_backward_data::primitive_desc({p.src, p.weights, p.dst},
                                                           attributes(false), cpu_engine(), hint);
}

#endif

inline auto forward(const InnerProduct& p, bool relu) {
  return forward(p, attributes(relu));
}
inline auto forward_adding(const InnerProduct& p) {
  return forward(p, adding());
}

/// An element-wise function; ..._use_dst_for_bwd: backward takes its output in place of its input.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha = 0, beta = 0;
};
inline constexpr Eltwise relu_function{dnnl::algorithm::eltwise_relu_use_dst_for_bwd, 0, 0};

struct Pooling {
  dnnl::algorithm algorithm;
  Desc src, dst;
  WindowDims window;
  Dims far;
};

#if DNNL_VERSION_MAJOR >= 3

inline auto forward(const Pooling& p) {
  return dnnl::pooling_forward::primitive_desc(
      cpu_engine(), dnnl::prop_kind::forward_training, p.algorithm, p.src, p.dst, p.window.stride,
      p.window.size, Dims(p.far.size(), 0), p.window.padding, p.far, attributes(false));
}
inline auto backward(const Pooling& p, const dnnl::pooling_forward::primitive_desc& hint) {
  return dnnl::pooling_backward::primitive_desc(
      cpu_engine(), p.algorithm, p.src, p.dst, p.window.stride, p.window.size,
      Dims(p.far.size(), 0), p.window.padding, p.far, hint, attributes(false));
}
inline auto forward(const Eltwise& f, const Desc& desc) {
  return dnnl::eltwise_forward::primitive_desc(cpu_engine(), dnnl::prop_kind::forward_training,
                                               f.algorithm, desc, desc, f.alpha, f.beta,
                                               attributes(false));
}
inline auto backward(const Eltwise& f, const Desc& desc) {
  return dnnl::eltwise_backward::primitive_desc(cpu_engine(), f.algorithm, desc, desc, desc,
                                                f.alpha, f.beta, forward(f, desc),
                                                attributes(false));
}
inline auto batch_norm_forward(const Desc& desc, float epsilon, dnnl::normalization_flags flags,
                               bool training) {
  return dnnl::batch_normalization_forward::primitive_desc(
      cpu_engine(),
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, desc, desc,
      epsilon, flags, attributes(false));
}
inline auto batch_norm_backward(const Desc& desc, float epsilon, dnnl::normalization_flags flags,
                                const dnnl::batch_normalization_forward::primitive_desc& hint) {
  return dnnl::batch_normalization_backward::primitive_desc(cpu_engine(), dnnl::prop_kind::backward,
                                                            desc, desc, desc, epsilon, flags, hint,
                                                            attributes(false));
}

#else

inline auto forward(const Pooling& p) {
  return dnnl::pooling_forward::primitive_desc(
      {dnnl::prop_kind::forward_training, p.algorithm, p.src, p.dst, p.window.stride, p.window.size,
       p.window.padding, p.far},
      attributes(false), cpu_engine());
}
inline auto backward(const Pooling& p, const dnnl::pooling_forward::primitive_desc& hint) {
  return dnnl::pooling_backward::primitive_desc(
      {p.algorithm, p.src, p.dst, p.window.stride, p.window.size, p.window.padding, p.far},
      attributes(false), cpu_engine(), hint);
}
inline auto forward(const Eltwise& f, const Desc& desc) {
  return dnnl::eltwise_forward::primitive_desc(
      {dnnl::prop_kind::forward_training, f.algorithm, desc, f.alpha, f.beta}, attributes(false),
      cpu_engine());
}
inline auto backward(const Eltwise& f, const Desc& desc) {
  return dnnl::eltwise_backward::primitive_desc({f.algorithm, desc, desc, f.alpha, f.beta},
                                                attributes(false), cpu_engine(), forward(f, desc));
}
inline auto batch_norm_forward(const Desc& desc, float epsilon, dnnl::normalization_flags flags,
                               bool training) {
  return dnnl::batch_normalization_forward::primitive_desc(
      {training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, desc,
       epsilon, flags},
      attributes(false), cpu_engine());
}
inline auto batch_norm_backward(const Desc& desc, float epsilon, dnnl::normalization_flags flags,
                                const dnnl::batch_normalization_forward::primitive_desc& hint) {
  return dnnl::batch_normalization_backward::primitive_desc(
      {dnnl::prop_kind::backward, desc, desc, epsilon, flags}, attributes(false), cpu_engine(),
      hint);
}

#endif

/// c = a b, over all leading dimensions.
struct Matmul {
  Desc a, b, c;
};

inline auto forward(const Matmul& m) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(cpu_engine(), m.a, m.b, m.c, attributes(false));
#else
  return dnnl::matmul::primitive_desc({m.a, m.b, m.c}, attributes(false), cpu_engine());
#endif
}

inline auto reorder_desc(const Desc& from, const Desc& to) {
  return dnnl::reorder::primitive_desc(cpu_engine(), from, cpu_engine(), to, attributes(false));
}

}  // namespace thalweg::engine::cpu
