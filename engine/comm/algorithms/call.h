// What a rank calls, in words: ranks compare it in checked mode, and tell it when nothing moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "engine/comm/algorithms/collective.h"

namespace thalweg::engine::comm {

/// Of lists that are to be the same on all ranks.
std::uint32_t digest(std::span<const std::size_t> numbers);

/// Equal texts on all ranks of a group are what a collective asks for.
struct Call {
  const char* what;       ///< "allreduce"; a literal
  Collective collective;  ///< says which arguments count
  Arguments arguments;
  int shards = 0;                   ///< of a sum over shards; 0: it is none
  const char* algorithm = nullptr;  ///< nullptr: there is no choice
  std::size_t tensors = 0;          ///< of Adasum
  std::uint32_t ends = 0;           ///< a digest of where they end

  /// "allreduce of 100 f32 (sum)"; with a label "allreduce of bucket 2 (fc1.weight), 100 f32
  /// (sum)".
  std::string text(std::string_view label = {}) const;
};

}  // namespace thalweg::engine::comm
