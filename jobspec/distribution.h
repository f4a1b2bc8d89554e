// What values an axis takes: one row of a table per distribution, named as in W&B sweep files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobspec/value.h"

namespace thalweg::jobspec {

class Diagnostics;

/// Immutable and thread-safe.
class Distribution {
 public:
  virtual ~Distribution() = default;
  /// The inverse cumulative distribution at 0 < u < 1. Same bits on every machine.
  virtual Value sample(double u) const = 0;
  /// Every value, in grid order; nothing where grid search cannot use it.
  virtual std::optional<std::vector<Value>> grid() const { return std::nullopt; }
  /// The values the user listed, to be checked one by one; nullptr where it is a range.
  virtual const std::vector<Value>* listed() const { return nullptr; }
  /// Smallest and largest value; nothing where there are none, or where values are listed.
  virtual std::optional<std::pair<Value, Value>> bounds() const { return std::nullopt; }
  /// Whether all values are whole numbers (meant for ranges).
  virtual bool whole() const { return false; }
  /// Whether no value can be told beforehand: two draws never agree.
  virtual bool continuous() const { return false; }
  /// Whether min and max are exponents.
  virtual bool exponents() const { return false; }
  /// Where the values are hardly those that were meant: which they are, in words. Empty elsewhere.
  virtual std::string caution() const { return {}; }
};

/// Reads {values: ...}, {min: ..., max: ..., distribution: ...} and so on; without `distribution`,
/// `value` means constant, `values` categorical, min and max int_uniform (both whole) or uniform.
/// `samples` is let pass: it is for the grid that the parameter belongs to. Returns nullptr after a
/// diagnostic.
std::shared_ptr<const Distribution> read_distribution(const Value& value, const std::string& path,
                                                      Diagnostics& diagnostics);

/// The same as a list of `draws` that a grid goes through.
std::shared_ptr<const Distribution> sampled(std::shared_ptr<const Distribution> distribution,
                                            std::vector<Value> draws);

/// Names and one-line meanings, for help and documentation.
std::vector<std::pair<std::string, std::string>> distribution_docs();

}  // namespace thalweg::jobspec
