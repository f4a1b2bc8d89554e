// `constraint` of a sweep file: which combinations of values run at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jobspec/fwd.h"
#include "jobspec/place.h"

namespace thalweg::jobspec {

/// A condition over the values of a configuration, as "optimizer.lr * batch.global <= 64":
///   or, and, not; < <= > >= == !=, also in chains; in and not in [a list]; + - * / %; ( )
///   numbers, 'texts', true, false; names of parameters, `between backquotes` where a name has
///   other characters than letters, digits, dots and underscores
/// Precedence is Python's. Numbers are IEEE doubles, and no library function is used: the answer is
/// the same on every machine. A plain value type; thread-safe to ask.
class Constraint {
 public:
  struct Node;

  /// Throws std::invalid_argument with what is wrong and from which character on.
  explicit Constraint(const std::string& text);

  const std::string& text() const { return text_; }
  /// In the order of their first appearance.
  const std::vector<std::string>& names() const { return names_; }
  /// `values`: those of names(), nullptr for a parameter that the configuration leaves out: the
  /// constraint holds then. Throws std::invalid_argument where kinds do not go together (a text is
  /// added, say, or the condition is a number).
  bool holds(const std::vector<const Value*>& values) const;

  Place place;

 private:
  std::string text_;
  std::vector<std::string> names_;
  std::shared_ptr<const Node> root_;
};

}  // namespace thalweg::jobspec
