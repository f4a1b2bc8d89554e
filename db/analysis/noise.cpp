// The engine reports a running mean whose first values are low, so neither the last value of a
// short run nor a mean over a whole one is the noise scale. One reading for all who ask.
#include "db/analysis/noise.h"

#include <algorithm>
#include <string>
#include <vector>

#include "db/analysis/cells.h"
#include "jobspec/advise/formulas.h"
#include "jobspec/metric_names.h"

namespace thalweg::db::analysis {
namespace {

using jobspec::Value;
using jobspec::advise::NoisePoint;

constexpr auto kEveryRow = std::int64_t{1} << 40;
constexpr const char* kMeasurement =
    "SELECT trial, json_extract(config, '$.noise.beta'), json_extract(config, '$.noise.every')"
    " FROM starts WHERE sweep = ?1 ORDER BY attempt";
// The later half of each trial's points.
constexpr const char* kPoints =
    "SELECT m.trial, m.step, m.value FROM metrics AS m JOIN latest_metrics AS l"
    " ON l.sweep = m.sweep AND l.trial = m.trial AND l.metric = m.metric"
    " WHERE m.sweep = ?1 AND m.metric = ?2 AND 2 * m.step >= l.step ORDER BY m.trial, m.step";

}  // namespace

std::map<std::int64_t, double> noise_scales(ReadStore& store, std::int64_t sweep) {
  std::map<std::int64_t, std::vector<NoisePoint>> points;
  for (const auto& row : store
                             .query(kPoints, kEveryRow, kQuerySeconds,
                                    {Value(sweep), Value(std::string(jobspec::metric::b_simple))})
                             .rows)
    points[row[0].as_int()].push_back({number_of(row[1]), number_of(row[2])});
  std::map<std::int64_t, double> scales;
  if (points.empty()) return scales;
  struct Measurement {
    double beta = 0, every = 1;
  };
  std::map<std::int64_t, Measurement> measured;
  for (const auto& row : store.query(kMeasurement, kEveryRow, kQuerySeconds, {Value(sweep)}).rows)
    measured[row[0].as_int()] = {number_of(row[1]), std::max(1.0, number_of(row[2]))};
  for (const auto& [trial, of_trial] : points) {
    const Measurement& how = measured[trial];
    scales[trial] = jobspec::advise::settled_noise(of_trial, how.beta, how.every);
  }
  return scales;
}

}  // namespace thalweg::db::analysis
