#include "engine/sync/adasum_sum.h"

#include <algorithm>
#include <vector>

namespace thalweg::engine {

std::unique_ptr<comm::Request> AdasumSum::start(const GradientPart& part, std::int64_t) {
  std::vector<std::size_t> ends;
  for (const int number : part.parameters) {
    const ParameterInfo& info = model_.parameters()[static_cast<std::size_t>(number)];
    ends.push_back(info.offset + info.count - part.offset);
  }
  std::sort(ends.begin(), ends.end());
  return group_.start_adasum(part.leaves[0], part.count, comm::Type::f32, ends, form_, part.label);
}

}  // namespace thalweg::engine
