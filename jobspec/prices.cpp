// Prices are per node and hour, since that is what Slurm allocates and centres charge for.
#include "jobspec/prices.h"

#include <fmt/format.h>

#include <algorithm>

namespace thalweg::jobspec {

std::optional<double> Prices::of(std::string_view partition) const {
  double dearest = 0;
  for (std::size_t from = 0; from <= partition.size();) {
    const std::size_t comma = std::min(partition.find(',', from), partition.size());
    const auto found = partitions.find(std::string(partition.substr(from, comma - from)));
    dearest = std::max(dearest, found == partitions.end() ? node_hour : found->second);
    from = comma + 1;
  }
  if (dearest <= 0) return std::nullopt;
  return dearest;
}

std::string Prices::amount(double money) const {
  return fmt::format("{:.4g}{}{}", money, currency.empty() ? "" : " ", currency);
}

}  // namespace thalweg::jobspec
