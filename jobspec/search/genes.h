// A configuration as one number for each thing that is chosen: what methods that cross, move or
// count values work on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "jobspec/relations.h"
#include "jobspec/search_space.h"
#include "jobspec/sweep.h"

namespace thalweg::jobspec {

/// A parameter, or parameters that are zipped.
struct Gene {
  /// Of a range or of listed numbers, which count in their order, the gene is a coordinate from 0
  /// to 1, even where draws are. Of others it is the number of the choice.
  bool ordered = false;
  /// Of listed values: the probability that each is drawn, in the order of their numbers.
  std::vector<double> shares{};
};

/// Nothing where `when` leaves the parameter out.
using Genes = std::vector<std::optional<double>>;

/// Valid as long as the sweep is.
class GeneSpace {
 public:
  explicit GeneSpace(const Sweep& sweep);

  const std::vector<Gene>& genes() const { return genes_; }
  Genes of(const Value& parameters) const;
  Genes of(const Chosen& values) const;
  /// A gene as a draw of it, 0 < u < 1, gives it.
  double drawn(std::size_t gene, double u) const;
  /// The gene whose value is so many times as large, within the range; of listed numbers the next
  /// larger one (factor > 1) or smaller one. Of others it is the same.
  double scaled(std::size_t gene, double coordinate, double factor) const;
  /// The configuration; what `when` leaves out is left out of it. Nothing where a constraint
  /// breaks. Throws BadConstraint.
  std::optional<Chosen> configuration(const std::vector<double>& genes);

 private:
  using Values = std::vector<Value>;  ///< one for each axis of a group
  std::optional<double> gene(std::size_t group, const Combination& combination) const;
  Values values(std::size_t group, double gene) const;
  Genes of(const Combination& combination) const;
  void list_choices(std::size_t group);

  const Sweep& sweep_;
  Conditions conditions_;
  Constraints constraints_;
  Groups groups_;
  std::vector<Gene> genes_;
  std::vector<std::vector<Values>> choices_;  ///< by group; none of a range
};

/// Random numbers of one choice: what is drawn depends on how many were drawn before.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t number) : seed_(seed), number_(number) {}
  double uniform();  ///< between 0 and 1, both excluded
  double normal();
  std::size_t below(std::size_t size);  ///< from 0

 private:
  std::uint64_t seed_, number_, drawn_ = 0;
};

}  // namespace thalweg::jobspec
