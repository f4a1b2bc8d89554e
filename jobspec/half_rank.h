// What a search learns from results of which some are out of all proportion.
#pragma once

#include <vector>

namespace thalweg::jobspec {

/// Values for a regression that is to tell the good ones apart; smaller is better.
struct HalfRanked {
  std::vector<double> values;  ///< as they are up to `cut`, evenly by their ranks beyond it
  double cut = 0;              ///< values beyond it tell only which is worse
};

/// The better half counts as it is, the worse half by its ranks, spread as far again as the better
/// half is (Song et al. 2024, "The Vizier Gaussian Process Bandit Algorithm", section 4.1:
/// half-rank warping). So one explosion hides no difference, however large it is. Where explosions
/// reach into the better half, that is its worst is a hundred times as far from the best as its
/// middle, its own better half counts, and so on. Order and ties stay. At least one value; all
/// finite.
HalfRanked half_ranked(const std::vector<double>& values);

}  // namespace thalweg::jobspec
