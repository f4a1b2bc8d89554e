#include "engine/device/cpu/order.h"

#include <cmath>
#include <optional>
#include <stdexcept>

#include "engine/tensor/buffer.h"

namespace thalweg::engine::cpu {
namespace {

/// Finds out by moving numbered elements into the layout, which works for every layout and release
/// of oneDNN. Elements get their 1-based position in the sample (exact in float: layers are limited
/// to 2^24), padding gets 0.
std::optional<std::vector<std::int32_t>> positions(const Desc& images) {
  const Dims dims = dims_of(images);
  const std::int64_t samples = dims[0];
  std::int64_t features = 1;
  for (std::size_t d = 1; d < dims.size(); ++d)
    features *= dims[d];
  const Desc plain = plain_desc(dims);
  Buffer from(plain.get_size()), to(images.get_size());
  for (std::int64_t i = 0; i < samples * features; ++i)
    from.floats()[i] = static_cast<float>(i % features + 1);
  dnnl::memory from_memory(plain, cpu_engine(), from.data());
  dnnl::memory to_memory(images, cpu_engine(), to.data());
  dnnl::stream stream(cpu_engine());
  dnnl::reorder(from_memory, to_memory).execute(stream, from_memory, to_memory);
  stream.wait();

  const auto floats = static_cast<std::int64_t>(images.get_size() / sizeof(float));
  if (floats % samples != 0) return std::nullopt;
  const std::int64_t width = floats / samples;
  std::vector<std::int32_t> order(static_cast<std::size_t>(width));
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < floats; ++i) {
    const std::int32_t position = static_cast<std::int32_t>(to.floats()[i]) - 1;
    if (i < width) {
      order[static_cast<std::size_t>(i)] = position;
      found += position >= 0;
    } else if (order[static_cast<std::size_t>(i % width)] != position) {
      return std::nullopt;
    }
  }
  if (found != features) return std::nullopt;
  return order;
}

}  // namespace

bool sample_is_outermost(const Desc& images) {
  return positions(images).has_value();
}

Order order_of(const Desc& images) {
  auto order = positions(images);
  if (!order) throw std::logic_error("a layout mixes samples where they must lie apart");
  for (std::size_t i = 0; i < order->size(); ++i)
    if ((*order)[i] != static_cast<std::int32_t>(i))
      return std::make_shared<const std::vector<std::int32_t>>(std::move(*order));
  return nullptr;
}

}  // namespace thalweg::engine::cpu
