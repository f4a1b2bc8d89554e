#include "engine/sync/overlap.h"

#include <algorithm>
#include <vector>

namespace thalweg::engine {

CommTimes split_times(std::span<const PartTime> parts, std::span<const double> shortest,
                      double compute_end, double waited) {
  std::vector<PartTime> joined;
  for (std::size_t p = 0; p < parts.size(); ++p)
    joined.push_back({std::max(parts[p].start, parts[p].end - shortest[p]), parts[p].end});
  std::sort(joined.begin(), joined.end(),
            [](const PartTime& a, const PartTime& b) { return a.start < b.start; });
  CommTimes times;
  double after = 0;    // of communication after backward
  double covered = 0;  // parts overlap each other: time that counts already ends here
  for (const PartTime& part : joined) {
    const double start = std::max(part.start, covered);
    if (part.end <= start) continue;
    times.comm_ms += part.end - start;
    after += std::max(0.0, part.end - std::max(start, compute_end));
    covered = part.end;
  }
  times.exposed_ms = std::min(after, waited);
  times.skew_ms = waited - times.exposed_ms;
  return times;
}

}  // namespace thalweg::engine
