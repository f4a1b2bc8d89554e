// Which samples are for training, and in which order they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/tensor/random.h"

namespace thalweg::engine {

/// A uniformly drawn order of 0 .. count-1: the numbers sorted by one 64-bit random key each (keyed
/// by seed, stream and round; equal keys by number). Same arguments, same order, on every machine.
std::vector<std::uint32_t> permutation(std::uint64_t seed, Stream stream, std::uint32_t round,
                                       std::size_t count);

/// Sample numbers, each list in ascending order.
struct Split {
  std::vector<std::uint32_t> training;
  std::vector<std::uint32_t> validation;
};

/// The seed of every split: trials with different seeds must be judged on the same samples.
constexpr std::uint64_t kSplitSeed = 20170825;  // the day Fashion-MNIST was published

/// Holds out `validation` of `count` samples; of both parts only `fraction` is kept (at least one
/// sample). Throws std::invalid_argument where nothing is left to train on.
/// Every training sample comes `duplicate` times; copies follow the whole list.
/// `tail`: the held-out samples are the last ones, not drawn.
Split split(std::size_t count, std::size_t validation, double fraction = 1, int duplicate = 1,
            bool tail = false);

}  // namespace thalweg::engine
