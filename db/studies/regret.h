// The arithmetic of `regret`, for its test.
#pragma once

#include <cstddef>
#include <vector>

namespace thalweg::db {

/// Of k draws without replacement from n ranked things, k <= n: the rank, from 0, that the best one
/// has or exceeds in each of these shares of all draws, by rising share. Exact.
std::vector<std::size_t> best_of_draws(std::size_t n, std::size_t k, std::vector<double> shares);

}  // namespace thalweg::db
