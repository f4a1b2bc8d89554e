// The nearest word by edit distance, in three rows of the usual table.
#include "base/nearest.h"

#include <algorithm>

namespace thalweg {

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::size_t n = word.size();
  // A third of the word may be wrong; a word of one or two letters must be right but for one.
  std::size_t best = std::max<std::size_t>(1, (n + 1) / 3) + 1;
  std::string answer;
  std::vector<std::size_t> before, above, row;
  for (const std::string& candidate : candidates) {
    const std::size_t m = candidate.size();
    if ((m > n ? m - n : n - m) >= best || (n <= 1 && m <= 1)) continue;
    above.resize(m + 1);
    row.resize(m + 1);
    before.resize(m + 1);
    for (std::size_t j = 0; j <= m; ++j)
      above[j] = j;
    for (std::size_t i = 1; i <= n; ++i) {
      row[0] = i;
      for (std::size_t j = 1; j <= m; ++j) {
        const std::size_t change = word[i - 1] == candidate[j - 1] ? 0 : 1;
        row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
        const bool swapped =
            i > 1 && j > 1 && word[i - 1] == candidate[j - 2] && word[i - 2] == candidate[j - 1];
        if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
      }
      std::swap(before, above);
      std::swap(above, row);
    }
    if (above[m] < best) {
      best = above[m];
      answer = candidate;
    }
  }
  return answer;
}

}  // namespace thalweg
