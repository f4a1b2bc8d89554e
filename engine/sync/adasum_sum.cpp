#include "engine/sync/adasum_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thalweg::engine {

void adasum(float* a, const float* b, std::span<const std::size_t> ends) {
  static const double kTiny = std::sqrt(std::numeric_limits<double>::min());
  std::size_t i = 0;
  for (const std::size_t end : ends) {
    const std::size_t begin = i;
    double ab = 0, aa = 0, bb = 0;
    for (; i < end; ++i) {
      const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
      ab += x * y;
      aa += x * x;
      bb += y * y;
    }
    const double left = aa < kTiny ? 1 : 1 - ab / (2 * aa);
    const double right = bb < kTiny ? 1 : 1 - ab / (2 * bb);
    for (i = begin; i < end; ++i)
      a[i] =
          static_cast<float>(left * static_cast<double>(a[i]) + right * static_cast<double>(b[i]));
  }
}

std::unique_ptr<comm::Request> AdasumSum::start(const GradientPart& part, std::int64_t) {
  const auto ranks = static_cast<std::size_t>(group_.size());
  all_.resize(ranks * part.count);
  group_.start_allgather(part.leaves[0], all_.data(), part.count * sizeof(float), part.label)
      ->wait();
  std::vector<std::size_t> ends;
  for (const int number : part.parameters) {
    const ParameterInfo& info = model_.parameters()[static_cast<std::size_t>(number)];
    ends.push_back(info.offset + info.count - part.offset);
  }
  std::sort(ends.begin(), ends.end());
  for (std::size_t apart = 1; apart < ranks; apart *= 2)
    for (std::size_t rank = 0; rank + apart < ranks; rank += 2 * apart)
      adasum(all_.data() + rank * part.count, all_.data() + (rank + apart) * part.count, ends);
  std::copy_n(all_.data(), part.count, part.leaves[0]);
  return nullptr;
}

}  // namespace thalweg::engine
