// concat on oneDNN's concatenation, in the first input's layout where every input ends at a block
// of it, else plain; backward copies the parts out.
#include <algorithm>

#include "engine/device/concat.h"
#include "engine/device/cpu/builder.h"

namespace thalweg::engine::cpu {
namespace {

/// Where the inputs lie in the output. Throws dnnl::error where its layout has no such parts.
std::vector<Desc> parts(const Desc& whole, const std::vector<Desc>& of, int axis) {
  std::vector<Desc> result;
  std::int64_t first = 0;
  for (const Desc& part : of) {
    const Dims dims = dims_of(part);
    result.push_back(part_of(whole, dims, axis, first));
    first += dims[static_cast<std::size_t>(axis)];
  }
  return result;
}

bool fit_together(const std::vector<Desc>& inputs, int axis) {
  try {
    parts(concat_desc(axis, inputs).dst_desc(), inputs, axis);
    return true;
  } catch (const dnnl::error&) {
    return false;
  }
}

/// Left alone, oneDNN may lay out rows of features column by column.
auto concat_of(int axis, const std::vector<Desc>& inputs, Type type) {
  Dims whole = dims_of(inputs.front());
  if (whole.size() > 3) return concat_desc(axis, inputs);
  auto& side = whole[static_cast<std::size_t>(axis)];
  side = 0;
  for (const Desc& input : inputs)
    side += dims_of(input)[static_cast<std::size_t>(axis)];
  return concat_desc(plain_desc(whole, type), axis, inputs);
}

}  // namespace

TensorId concat(Builder& b, const Node& node, TensorId) {
  const int axis = static_cast<int>(concat_axis(node.layer->in)) + 1;
  std::vector<TensorId> given, xs;
  std::vector<Desc> layouts;
  for (std::size_t k = 0; k < b.inputs(); ++k) {
    given.push_back(b.in_type(Builder::Pass::both, b.input(k), b.type()));
    xs.push_back(b.in_plain_order(Builder::Pass::both, given[k]));
    layouts.push_back(b.desc(xs[k]));
  }
  if (!fit_together(layouts, axis))
    for (std::size_t k = 0; k < xs.size(); ++k) {
      layouts[k] = plain_desc(dims_of(layouts[k]), b.type());
      xs[k] = b.in_layout(Builder::Pass::both, xs[k], layouts[k]);
    }
  const auto pd = concat_of(axis, layouts, b.type());
  const TensorId y = b.activation(pd.dst_desc());
  Arguments arguments{{DNNL_ARG_DST, y}};
  for (std::size_t k = 0; k < xs.size(); ++k)
    arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(k), xs[k]);
  b.primitive(Builder::Pass::both, pd, arguments);

  b.on_backward_to_all([=, &b](TensorId dy) {
    dy = b.in_layout(Builder::Pass::backward, dy, b.desc(y));
    const std::vector<Desc> places = parts(b.desc(y), layouts, axis);
    std::vector<TensorId> dxs;
    for (std::size_t k = 0; k < xs.size(); ++k) {
      const TensorId dx = b.activation(layouts[k]);
      if (b.wants_input_gradient(k))
        b.primitive(Builder::Pass::backward, reorder_desc(places[k], layouts[k]),
                    {{DNNL_ARG_FROM, b.view(dy, places[k], nullptr)}, {DNNL_ARG_TO, dx}});
      dxs.push_back(b.wants_input_gradient(k) ? b.out_of_plain_order(dx, given[k]) : dx);
    }
    return dxs;
  });
  return y;
}

}  // namespace thalweg::engine::cpu
