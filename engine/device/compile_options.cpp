// The names of precisions, in the order of the enum.
#include "engine/device/compile_options.h"

#include <algorithm>
#include <stdexcept>

namespace thalweg::engine {

const std::vector<std::string>& precision_names() {
  static const std::vector<std::string> names{"fp32", "bf16", "tf32"};
  return names;
}

Precision precision_named(const std::string& name) {
  const std::vector<std::string>& names = precision_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::invalid_argument("there is no precision '" + name + "'");
  return static_cast<Precision>(found - names.begin());
}

}  // namespace thalweg::engine
