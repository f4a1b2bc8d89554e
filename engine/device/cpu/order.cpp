#include "engine/device/cpu/order.h"

#include <cmath>
#include <optional>
#include <stdexcept>

#include "engine/device/cpu/types.h"
#include "engine/tensor/buffer.h"

namespace thalweg::engine::cpu {
namespace {

/// Moves what from(i) says of the batch's element i into the layout and calls
/// to(position in memory, number) for each.
template <class From, class To>
void move_numbers(const Desc& images, From from, To to) {
  const Desc plain = plain_desc(dims_of(images));
  Buffer source(plain.get_size()), target(images.get_size());
  for (std::size_t i = 0; i < count_of(plain); ++i)
    source.floats()[i] = from(static_cast<std::int64_t>(i));
  dnnl::memory source_memory(plain, cpu_engine(), source.data());
  dnnl::memory target_memory(images, cpu_engine(), target.data());
  dnnl::stream stream(cpu_engine());
  dnnl::reorder(source_memory, target_memory).execute(stream, source_memory, target_memory);
  stream.wait();
  with_type(type_of(images), [&](auto zero) {
    const auto* moved = static_cast<const decltype(zero)*>(target.data());
    for (std::size_t i = 0; i < count_of(images); ++i)
      to(i, static_cast<std::int64_t>(load(moved[i])));
  });
}

/// Finds out by moving numbered elements into the layout, which works for every layout and release
/// of oneDNN. Elements get their 1-based position in the sample, padding gets 0; digit by digit, as
/// large as the type is exact in.
std::optional<std::vector<std::int32_t>> positions(const Desc& images) {
  const Dims dims = dims_of(images);
  const std::int64_t samples = dims[0];
  std::int64_t features = 1;
  for (std::size_t d = 1; d < dims.size(); ++d)
    features *= dims[d];
  const std::int64_t digit = type_of(images) == bf16 ? 1 << 8 : 1 << 24;
  std::vector<std::int64_t> numbers(count_of(images));
  for (std::int64_t unit = 1; unit <= features; unit *= digit)
    move_numbers(
        images,
        [&](std::int64_t i) { return static_cast<float>((i % features + 1) / unit % digit); },
        [&](std::size_t i, std::int64_t number) { numbers[i] += number * unit; });

  const auto count = static_cast<std::int64_t>(numbers.size());
  if (count % samples != 0) return std::nullopt;
  const std::int64_t width = count / samples;
  std::vector<std::int32_t> order(static_cast<std::size_t>(width));
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto position = static_cast<std::int32_t>(numbers[static_cast<std::size_t>(i)] - 1);
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
  if (!order) throw std::logic_error("a layout mixes samples where they must be apart");
  for (std::size_t i = 0; i < order->size(); ++i)
    if ((*order)[i] != static_cast<std::int32_t>(i))
      return std::make_shared<const std::vector<std::int32_t>>(std::move(*order));
  return nullptr;
}

}  // namespace thalweg::engine::cpu
