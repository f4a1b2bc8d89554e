// What a run would take on other numbers of nodes: time, node-hours, money, and how good it would
// be after some hours. Arithmetic: jobspec/advise/forecast.h.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

struct ForecastOptions {
  std::vector<double> nodes{};          ///< above 0
  std::optional<double> revocations{};  ///< per node and hour; without one as the record has them
  std::optional<double> hours{};        ///< wall-clock, for ForecastRow::value
  std::optional<double> money{};        ///< instead of hours: what may be spent; needs a price
  std::optional<double> price{};        ///< of a node-hour
  std::string currency{};               ///< of price, as it is printed
  /// Samples per second by nodes, where a simulation tells them: instead of a law or a sum, where
  /// nothing was measured.
  std::map<double, double> simulated{};
  /// Revocations are read from these sweeps (those of one partition); without them from all.
  std::optional<std::vector<std::int64_t>> like{};
};

struct ForecastRow {
  double nodes = 0;
  bool measured = false, simulated = false;
  double samples_per_s = std::numeric_limits<double>::quiet_NaN();
  double efficiency = samples_per_s;  ///< of what as many of the fewest nodes would make alone
  double seconds = samples_per_s;     ///< undisturbed
  double expected_seconds = seconds;  ///< with revocations
  double node_hours = seconds;        ///< of expected_seconds
  double money = seconds;             ///< NaN without a price
  double value = seconds;  ///< the metric after `hours`, or `money`; NaN before a first value
};

struct Forecast {
  std::string trial, metric;
  double batch = 0;                                              ///< global
  double samples = 0;                                            ///< to its target, else to its end
  std::string currency;                                          ///< of ForecastRow::money
  std::string until;                                             ///< "val/error 0.14" or "its end"
  double bottleneck = std::numeric_limits<double>::quiet_NaN();  ///< nodes; NaN: none was seen
  double mape = bottleneck;  ///< of predicted speeds; NaN where one number was measured
  double revocations = 0;    ///< per node and hour
  double checkpoint_s = 0, restart_s = 0;
  /// Where the trial ran, and of a step there: forward and backward of a sample on a rank, the
  /// update; 0 where it has not measured them.
  double measured_nodes = 0, measured_samples_per_s = 0, sample_us = 0, update_ms = 0;
  /// 10^9 bits a second of a node's link, as sums of gradients of about this size were on several
  /// nodes, and the trial that tells most; 0: none has.
  double link_gbit = 0;
  std::string link_of;
  std::vector<ForecastRow> rows;  ///< as they were asked for
  std::vector<std::string> notes;
};

/// Of this trial, or of a sweep's best one. Speeds are those of the sweep's trials with its global
/// batch. Throws std::invalid_argument where there is no such trial, nothing was measured, or
/// `money` comes without a price.
Forecast forecast_trial(ReadStore& store, const Id& trial, const ForecastOptions& options);

}  // namespace thalweg::db::analysis
