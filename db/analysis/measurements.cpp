// A trial's newest attempt and newest points: what it took once it was under way.
#include "db/analysis/measurements.h"

#include <cmath>
#include <stdexcept>

#include "db/analysis/cells.h"
#include "jobspec/metric_names.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

using jobspec::Value;

constexpr std::int64_t most = 20'000;
constexpr double giga = 1e9, mega = 1e6, ms = 1000;

constexpr const char* sql =
    "SELECT s.sweep, s.trial, s.flops_per_sample * json_extract(s.config, '$.batch.global') /"
    " s.ranks, json_extract(s.config, '$.batch.global'), a.value, b.value"
    " FROM starts AS s"
    " JOIN latest_metrics AS a ON a.sweep = s.sweep AND a.trial = s.trial"
    " AND a.attempt = s.attempt AND a.metric = ?1"
    " JOIN latest_metrics AS b ON b.sweep = s.sweep AND b.trial = s.trial"
    " AND b.attempt = s.attempt AND b.metric = ?2"
    " WHERE (?3 = '' OR s.device = ?3)"
    " AND ifnull(json_extract(s.config, '$.emulate'), json_object('preset', 'none'))"
    " = json_object('preset', 'none') ORDER BY s.sweep DESC, s.trial DESC";

// A trial's samples are those that it reports, where its batch grows, else steps of its batch.
constexpr const char* compute_sql =
    "SELECT s.sweep, s.trial, a.time,"
    " s.flops_per_sample * ifnull(b.value, a.step * json_extract(s.config, '$.batch.global'))"
    " FROM starts AS s"
    " JOIN latest_metrics AS a ON a.sweep = s.sweep AND a.trial = s.trial"
    " AND a.attempt = s.attempt AND a.metric = ?1"
    " LEFT JOIN latest_metrics AS b ON b.sweep = s.sweep AND b.trial = s.trial"
    " AND b.attempt = s.attempt AND b.metric = ?2"
    " WHERE (?3 = '' OR s.device = ?3)"
    " AND ifnull(json_extract(s.config, '$.emulate'), json_object('preset', 'none'))"
    " = json_object('preset', 'none') ORDER BY s.sweep DESC, s.trial DESC";

/// 1970 and years of 365.2425 days.
double year_of(double unix_seconds) {
  return 1970 + unix_seconds / (365.2425 * 86400);
}

std::string id_of(const std::vector<Value>& row) {
  return row[0].to_text() + "." + row[1].to_text();
}

}  // namespace

namespace {

Measurements read_compute(ReadStore& store, const std::string& device) {
  Measurements found;
  found.x_name = "year";
  found.y_name = "petaflop/s-days";
  constexpr double petaflop_days = 8.64e19;
  for (const auto& row : store
                             .query(compute_sql, most, kQuerySeconds,
                                    {Value(jobspec::metric::train_loss),
                                     Value(jobspec::metric::batch_samples), Value(device)})
                             .rows) {
    if (!row[2].is_number() || !row[3].is_number()) continue;
    Measurement point{id_of(row)};
    point.x = year_of(row[2].as_double());
    point.y = row[3].as_double() / petaflop_days;
    if (row[2].as_double() > 0 && point.y > 0 && std::isfinite(point.y))
      found.points.push_back(point);
  }
  return found;
}

}  // namespace

Measurements read_measurements(ReadStore& store, const std::string& of, const std::string& device) {
  if (of == "compute") return read_compute(store, device);
  const bool steps = of == "step";
  if (!steps && of != "checkpoint")
    throw std::invalid_argument("'" + of + "' is not measured; step, checkpoint and compute are");
  Measurements found;
  found.x_name = steps ? "GFLOPs of a rank's step" : "MB";
  found.y_name = steps ? "seconds a step" : "seconds a checkpoint";
  const char* const first =
      steps ? jobspec::metric::samples_per_s : jobspec::metric::checkpoint_bytes;
  const char* const second =
      steps ? jobspec::metric::samples_per_s : jobspec::metric::checkpoint_write_ms;
  for (const auto& row :
       store.query(sql, most, kQuerySeconds, {Value(first), Value(second), Value(device)}).rows) {
    const auto number = [&](std::size_t i) { return number_of(row[i]); };
    Measurement point{id_of(row)};
    point.x = steps ? number(2) / giga : number(4) / mega;
    point.y = steps ? number(3) / number(4) : number(5) / ms;
    if (point.x > 0 && point.y > 0 && std::isfinite(point.y)) found.points.push_back(point);
  }
  return found;
}

}  // namespace thalweg::db::analysis
