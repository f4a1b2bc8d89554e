// What an hour of a node costs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace thalweg::jobspec {

struct Prices {
  std::string currency;                      ///< as it is printed: "EUR"
  double node_hour = 0;                      ///< of any node; 0 = not known
  std::map<std::string, double> partitions;  ///< by Slurm's partition: instead

  /// `partition` as a sweep file names it; of several ("fat,thin") the dearest; empty = none named.
  /// Nothing where the price is not known.
  std::optional<double> of(std::string_view partition) const;
  /// "10.8 EUR", or "10.8" without a currency.
  std::string amount(double money) const;
};

}  // namespace thalweg::jobspec
