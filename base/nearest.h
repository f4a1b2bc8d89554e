// "Did you mean": the word that was probably meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thalweg {

/// The candidate nearest to `word` (Damerau-Levenshtein distance: insertions, deletions, changes
/// and swaps of neighbours); empty if none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace thalweg
