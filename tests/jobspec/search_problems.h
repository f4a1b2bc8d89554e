// Functions with known minima, and a search for them by the product's own choices.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "jobspec/sweep.h"

namespace thalweg::jobspec {

struct SearchProblem {
  std::string name;
  std::string parameters;  ///< the block of a sweep file
  double least;
  std::function<double(const std::vector<double>& x)> value;  ///< of x1, x2, ...
  int configurations = 40;                                    ///< of one search
};

/// Branin's function and the six-dimensional one of Hartmann, as in Surjanovic and Bingham's
/// library of test functions; each again where whatever is far from the best explodes; and a
/// learning rate that is best just below where trainings diverge. "sine": seven coefficients from
/// -1 to 1 of a polynomial that is to be the sine from -pi to pi, 130 configurations, as in the
/// examples of Cray's HPO (129 random evaluations against 13 generations of 10).
const std::vector<SearchProblem>& search_problems();
const SearchProblem& search_problem(const std::string& name);

/// How far the best configuration is from the least value. `parallel`: how many trials run at once,
/// the older ones ending first; 0: all configurations are drawn, as `method` draws.
double regret(const SearchProblem& problem, std::uint64_t seed, int parallel,
              const std::string& method = "bayes");

double median(std::vector<double> values);

}  // namespace thalweg::jobspec
