#include "engine/device/layer.h"

#include <stdexcept>

namespace thalweg::engine {
namespace {

const jobspec::Value& option_of(const LayerPlan& plan, std::string_view option) {
  const jobspec::Value* value = plan.options.find(option);
  if (value == nullptr)
    throw std::logic_error("layer " + plan.name + " has no option " + std::string(option));
  return *value;
}

}  // namespace

std::int64_t LayerPlan::integer(std::string_view option) const {
  return option_of(*this, option).as_int();
}

double LayerPlan::real(std::string_view option) const {
  return option_of(*this, option).as_double();
}

bool LayerPlan::flag(std::string_view option) const {
  return option_of(*this, option).as_bool();
}

std::vector<int> Graph::uses() const {
  std::vector<int> count(layers.size() + 1, 0);
  for (const LayerPlan& layer : layers)
    for (const int value : layer.from)
      ++count[static_cast<std::size_t>(value)];
  return count;
}

}  // namespace thalweg::engine
