// Options of the rows, spelled once.
#include <utility>

#include "engine/optim/table.h"

namespace thalweg::engine::optim {

using jobspec::Option;

bool matches_glob(const std::string& pattern, const std::string& text) {
  std::size_t p = 0, t = 0, star = std::string::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string::npos) {
      p = star + 1;  // the last star takes one character more
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*')
    ++p;
  return p == pattern.size();
}

Option momentum_option(double fallback) {
  return float_option("momentum", fallback, 0, 1, "factor of the old velocity");
}

Option epsilon_option(double fallback) {
  return float_option("epsilon", fallback, 0, 1, "keeps the divisor from 0");
}

std::vector<Option> beta_options(double beta1, double beta2) {
  constexpr double below_one = 0.99999999;
  return {float_option("beta1", beta1, 0, below_one, "decay of the mean gradient"),
          float_option("beta2", beta2, 0, below_one, "decay of the mean squared gradient"),
          int_option("beta_batch", 0, 0, 1 << 30,
                     "batch.global that the betas are meant for: for another one each becomes "
                     "beta^(batch / this); 0 = as they are")};
}

std::vector<Option> decay_options(double fallback, bool decoupled) {
  return {
      float_option("weight_decay", fallback, 0, 1e6, "pulls the weights towards 0"),
      flag_option("decoupled", decoupled,
                  "decay shrinks the weights by lr times weight_decay; else it is an L2 term of "
                  "the gradient")};
}

std::vector<Option> operator+(std::vector<Option> a, const std::vector<Option>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace thalweg::engine::optim
