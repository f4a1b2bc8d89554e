// Which algorithm a call takes: a person's table of sizes, and "auto" where it says nothing.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "engine/comm/algorithms/table.h"

namespace thalweg::engine::comm {

/// "auto", an algorithm's name, or a list of sizes such as "recursive_doubling:0-8K,ring:8K-".
/// A range holds vectors of at least its first and less than its second number of bytes; K, M and G
/// are powers of 1024; an empty end is no limit. Sizes that no range holds are "auto".
class Choice {
 public:
  explicit Choice(Collective collective) : collective_(collective) {}
  /// Throws std::invalid_argument with what is wrong and what there is.
  static Choice parse(Collective collective, std::string_view text);

  const Row& operator()(const Layout& layout, std::size_t bytes) const;
  /// Throws std::invalid_argument where it names an algorithm that such a group cannot run.
  void check(const Layout& layout) const;
  /// As parse() reads it.
  std::string text() const;

 private:
  struct Range {
    const Row* row;
    std::size_t from;
    std::size_t to;  ///< not included; SIZE_MAX: no limit
  };
  Collective collective_;
  std::vector<Range> ranges_;  ///< ascending, apart
};

}  // namespace thalweg::engine::comm
