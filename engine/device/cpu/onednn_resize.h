// oneDNN's deconvolution, resampling and concatenation, as onednn.h has the rest.
#pragma once

#include <vector>

#include "engine/device/cpu/onednn.h"

namespace thalweg::engine::cpu {

/// src and dst are those of the deconvolution; weights are (out, in, kernel...).
struct Deconvolution : Convolution {};

#if DNNL_VERSION_MAJOR >= 3

inline auto forward(const Deconvolution& c, bool relu) {
  return dnnl::deconvolution_forward::primitive_desc(
      cpu_engine(), dnnl::prop_kind::forward_training, c.algorithm, c.src, c.weights, c.bias, c.dst,
      c.window.stride, c.window.padding, c.far, attributes(relu));
}
inline auto backward_weights(const Deconvolution& c,
                             const dnnl::deconvolution_forward::primitive_desc& hint) {
  return dnnl::deconvolution_backward_weights::primitive_desc(
      cpu_engine(), c.algorithm, c.src, c.weights, c.bias, c.dst, c.window.stride, c.window.padding,
      c.far, hint, attributes(false));
}
inline auto backward_data(const Deconvolution& c,
                          const dnnl::deconvolution_forward::primitive_desc& hint) {
  return dnnl::deconvolution_backward_data::primitive_desc(
      cpu_engine(), c.algorithm, c.src, c.weights, c.dst, c.window.stride, c.window.padding, c.far,
      hint, attributes(false));
}

/// Every pixel `factor` times in every direction.
inline auto repeat_forward(const Desc& src, const Desc& dst) {
  return dnnl::resampling_forward::primitive_desc(cpu_engine(), dnnl::prop_kind::forward_training,
                                                  dnnl::algorithm::resampling_nearest, src, dst,
                                                  attributes(false));
}
inline auto repeat_backward(const Desc& src, const Desc& dst,
                            const dnnl::resampling_forward::primitive_desc& hint) {
  return dnnl::resampling_backward::primitive_desc(
      cpu_engine(), dnnl::algorithm::resampling_nearest, src, dst, hint, attributes(false));
}

inline auto concat_desc(int axis, const std::vector<Desc>& srcs) {
  return dnnl::concat::primitive_desc(cpu_engine(), axis, srcs, attributes(false));
}
inline auto concat_desc(const Desc& dst, int axis, const std::vector<Desc>& srcs) {
  return dnnl::concat::primitive_desc(cpu_engine(), dst, axis, srcs, attributes(false));
}

#else

inline auto forward(const Deconvolution& c, bool relu) {
  return dnnl::deconvolution_forward::primitive_desc(
      {dnnl::prop_kind::forward_training, c.algorithm, c.src, c.weights, c.bias, c.dst,
       c.window.stride, c.window.padding, c.far},
      attributes(relu), cpu_engine());
}
inline auto backward_weights(const Deconvolution& c,
                             const dnnl::deconvolution_forward::primitive_desc& hint) {
  return dnnl::deconvolution_backward_weights::primitive_desc(
      {c.algorithm, c.src, c.weights, c.bias, c.dst, c.window.stride, c.window.padding, c.far},
      attributes(false), cpu_engine(), hint);
}
inline auto backward_data(const Deconvolution& c,
                          const dnnl::deconvolution_forward::primitive_desc& hint) {
  return dnnl::deconvolution_backward_data::primitive_desc(
      {c.algorithm, c.src, c.weights, c.dst, c.window.stride, c.window.padding, c.far},
      attributes(false), cpu_engine(), hint);
}

/// Every pixel `factor` times in every direction.
inline auto repeat_forward(const Desc& src, const Desc& dst) {
  return dnnl::resampling_forward::primitive_desc(
      {dnnl::prop_kind::forward_training, dnnl::algorithm::resampling_nearest, src, dst},
      attributes(false), cpu_engine());
}
inline auto repeat_backward(const Desc& src, const Desc& dst,
                            const dnnl::resampling_forward::primitive_desc& hint) {
  return dnnl::resampling_backward::primitive_desc({dnnl::algorithm::resampling_nearest, src, dst},
                                                   attributes(false), cpu_engine(), hint);
}

inline auto concat_desc(int axis, const std::vector<Desc>& srcs) {
  return dnnl::concat::primitive_desc(axis, srcs, cpu_engine(), attributes(false));
}
inline auto concat_desc(const Desc& dst, int axis, const std::vector<Desc>& srcs) {
  return dnnl::concat::primitive_desc(dst, axis, srcs, cpu_engine(), attributes(false));
}

#endif

/// A part of `whole`, which begins `first` into the dimension `axis`. Throws dnnl::error where the
/// layout has no such part.
inline Desc part_of(const Desc& whole, const Dims& dims, int axis, std::int64_t first) {
  Dims offsets(dims.size(), 0);
  offsets[static_cast<std::size_t>(axis)] = first;
  return whole.submemory_desc(dims, offsets);
}

}  // namespace thalweg::engine::cpu
