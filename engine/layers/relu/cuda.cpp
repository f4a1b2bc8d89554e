// relu that stands alone; after a product, convolution, norm or sum it is joined to that.
#include "engine/device/cuda/builder.h"
#include "engine/device/cuda/reductions.h"
#include "engine/gpu/loops.h"

namespace thalweg::engine::cuda {
namespace {

struct Relu {
  // NaN stays NaN.
  THALWEG_HOST_DEVICE float operator()(float x) const { return x < 0 ? 0 : x; }
};

}  // namespace

TensorId relu(Builder& b, const Node&, TensorId x) {
  const TensorId y = b.activation(b.desc(x).dims, b.output_type());
  const std::int64_t count = b.desc(y).count();
  const Type from = b.desc(x).type, to = b.desc(y).type;
  b.kernel(Builder::Pass::both, {x, y}, [=](const Frame& frame) {
    gpu::with_type(from, [&](auto a) {
      gpu::with_type(to, [&](auto r) {
        gpu::map(frame.stream, count, Relu{}, frame.as<decltype(r)>(y),
                 static_cast<const decltype(a)*>(frame.as<decltype(a)>(x)));
      });
    });
  });
  b.keep(y);
  b.on_backward([=, &b](TensorId dy) { return relu_gradient(b, y, dy); });
  return y;
}

}  // namespace thalweg::engine::cuda
