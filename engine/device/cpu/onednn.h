// oneDNN in one place: what differs between 2.x (operation descriptors) and 3.x (none) is hidden
// here, and every primitive gets its scratch memory from the caller.
#pragma once

#include <dnnl.hpp>

#include <concepts>
#include <vector>

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

/// Whether oneDNN makes kernels of this instruction set here.
inline bool makes(dnnl::cpu_isa isa) {
  const auto bits = [](dnnl::cpu_isa of) { return static_cast<unsigned>(of); };
  return (bits(dnnl::get_effective_cpu_isa()) & bits(isa)) == bits(isa);
}
inline bool uses_avx512() {
  return makes(dnnl::cpu_isa::avx512_core);
}
/// True where the processor multiplies bfloat16 itself; oneDNN would otherwise imitate it, slower
/// than fp32.
inline bool has_bf16() {
  return makes(dnnl::cpu_isa::avx512_core_bf16);
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

/// A forward primitive; `of`: its own arguments, as both versions take them.
template <class Primitive, class... Of>
auto forward_primitive(const dnnl::primitive_attr& attr, const Of&... of) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(cpu_engine(), of..., attr);
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(of...), attr, cpu_engine());
#endif
}
/// A backward primitive; `hint`: the forward one that it belongs to.
template <class Primitive, class Hint, class... Of>
auto backward_primitive(const Hint& hint, const Of&... of) {
#if DNNL_VERSION_MAJOR >= 3
  return typename Primitive::primitive_desc(cpu_engine(), of..., hint, attributes(false));
#else
  return typename Primitive::primitive_desc(typename Primitive::desc(of...), attributes(false),
                                            cpu_engine(), hint);
#endif
}

struct Convolution {
  using Forward = dnnl::convolution_forward;
  using BackwardWeights = dnnl::convolution_backward_weights;
  using BackwardData = dnnl::convolution_backward_data;

  dnnl::algorithm algorithm;
  Desc src, weights, bias, dst;  ///< bias may be empty
  WindowDims window;
  Dims far;
};

/// src and dst are those of the deconvolution; weights are (out, in, kernel...).
struct Deconvolution : Convolution {
  using Forward = dnnl::deconvolution_forward;
  using BackwardWeights = dnnl::deconvolution_backward_weights;
  using BackwardData = dnnl::deconvolution_backward_data;
};

template <std::derived_from<Convolution> C>
auto forward(const C& c, bool relu) {
  return forward_primitive<typename C::Forward>(attributes(relu), dnnl::prop_kind::forward_training,
                                                c.algorithm, c.src, c.weights, c.bias, c.dst,
                                                c.window.stride, c.window.padding, c.far);
}
template <std::derived_from<Convolution> C>
auto backward_weights(const C& c, const typename C::Forward::primitive_desc& hint) {
  return backward_primitive<typename C::BackwardWeights>(
      hint, c.algorithm, c.src, c.weights, c.bias, c.dst, c.window.stride, c.window.padding, c.far);
}
template <std::derived_from<Convolution> C>
auto backward_data(const C& c, const typename C::Forward::primitive_desc& hint) {
  return backward_primitive<typename C::BackwardData>(hint, c.algorithm, c.src, c.weights, c.dst,
                                                      c.window.stride, c.window.padding, c.far);
}

struct InnerProduct {
  Desc src, weights, bias, dst;  ///< bias may be empty
};

inline auto forward(const InnerProduct& p, const dnnl::primitive_attr& attr) {
  return forward_primitive<dnnl::inner_product_forward>(attr, dnnl::prop_kind::forward_training,
                                                        p.src, p.weights, p.bias, p.dst);
}
inline auto forward(const InnerProduct& p, bool relu) {
  return forward(p, attributes(relu));
}
inline auto forward_adding(const InnerProduct& p) {
  return forward(p, adding());
}
inline auto backward_weights(const InnerProduct& p,
                             const dnnl::inner_product_forward::primitive_desc& hint) {
  return backward_primitive<dnnl::inner_product_backward_weights>(hint, p.src, p.weights, p.bias,
                                                                  p.dst);
}
inline auto backward_data(const InnerProduct& p,
                          const dnnl::inner_product_forward::primitive_desc& hint) {
  return backward_primitive<dnnl::inner_product_backward_data>(hint, p.src, p.weights, p.dst);
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

/// Every pixel `factor` times in every direction.
inline auto repeat_forward(const Desc& src, const Desc& dst) {
  return forward_primitive<dnnl::resampling_forward>(attributes(false),
                                                     dnnl::prop_kind::forward_training,
                                                     dnnl::algorithm::resampling_nearest, src, dst);
}
inline auto repeat_backward(const Desc& src, const Desc& dst,
                            const dnnl::resampling_forward::primitive_desc& hint) {
  return backward_primitive<dnnl::resampling_backward>(hint, dnnl::algorithm::resampling_nearest,
                                                       src, dst);
}

// 3.x wants more of some: a window's dilation, source and destination apart.

inline auto forward(const Pooling& p) {
  return forward_primitive<dnnl::pooling_forward>(attributes(false),
                                                  dnnl::prop_kind::forward_training, p.algorithm,
                                                  p.src, p.dst, p.window.stride, p.window.size,
#if DNNL_VERSION_MAJOR >= 3
                                                  Dims(p.far.size(), 0),
#endif
                                                  p.window.padding, p.far);
}
inline auto backward(const Pooling& p, const dnnl::pooling_forward::primitive_desc& hint) {
  return backward_primitive<dnnl::pooling_backward>(hint, p.algorithm, p.src, p.dst,
                                                    p.window.stride, p.window.size,
#if DNNL_VERSION_MAJOR >= 3
                                                    Dims(p.far.size(), 0),
#endif
                                                    p.window.padding, p.far);
}

inline auto forward(const Eltwise& f, const Desc& desc) {
  return forward_primitive<dnnl::eltwise_forward>(
      attributes(false), dnnl::prop_kind::forward_training, f.algorithm, desc,
#if DNNL_VERSION_MAJOR >= 3
      desc,
#endif
      f.alpha, f.beta);
}
inline auto backward(const Eltwise& f, const Desc& desc) {
  return backward_primitive<dnnl::eltwise_backward>(forward(f, desc), f.algorithm, desc, desc,
#if DNNL_VERSION_MAJOR >= 3
                                                    desc,
#endif
                                                    f.alpha, f.beta);
}

inline auto batch_norm_forward(const Desc& desc, float epsilon, dnnl::normalization_flags flags,
                               bool training) {
  return forward_primitive<dnnl::batch_normalization_forward>(
      attributes(false),
      training ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference, desc,
#if DNNL_VERSION_MAJOR >= 3
      desc,
#endif
      epsilon, flags);
}
inline auto batch_norm_backward(const Desc& desc, float epsilon, dnnl::normalization_flags flags,
                                const dnnl::batch_normalization_forward::primitive_desc& hint) {
  return backward_primitive<dnnl::batch_normalization_backward>(hint, dnnl::prop_kind::backward,
                                                                desc, desc,
#if DNNL_VERSION_MAJOR >= 3
                                                                desc,
#endif
                                                                epsilon, flags);
}

/// c = a b, over all leading dimensions.
struct Matmul {
  Desc a, b, c;
};

inline auto forward(const Matmul& m) {
  return forward_primitive<dnnl::matmul>(attributes(false), m.a, m.b, m.c);
}

inline auto concat_desc(int axis, const std::vector<Desc>& srcs) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::concat::primitive_desc(cpu_engine(), axis, srcs, attributes(false));
#else
  return dnnl::concat::primitive_desc(axis, srcs, cpu_engine(), attributes(false));
#endif
}
inline auto concat_desc(const Desc& dst, int axis, const std::vector<Desc>& srcs) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::concat::primitive_desc(cpu_engine(), dst, axis, srcs, attributes(false));
#else
  return dnnl::concat::primitive_desc(dst, axis, srcs, cpu_engine(), attributes(false));
#endif
}

/// A part of `whole`, which begins `first` into the dimension `axis`. Throws dnnl::error where the
/// layout has no such part.
inline Desc part_of(const Desc& whole, const Dims& dims, int axis, std::int64_t first) {
  Dims offsets(dims.size(), 0);
  offsets[static_cast<std::size_t>(axis)] = first;
  return whole.submemory_desc(dims, offsets);
}

inline auto reorder_desc(const Desc& from, const Desc& to) {
  return dnnl::reorder::primitive_desc(cpu_engine(), from, cpu_engine(), to, attributes(false));
}

}  // namespace thalweg::engine::cpu
