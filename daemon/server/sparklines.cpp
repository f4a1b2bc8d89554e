// GET /v1/sparklines: how the best trials of some sweeps went, for lists of sweeps.
#include <chrono>
#include <nlohmann/json.hpp>

#include "daemon/api/trial_messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using jobspec::Id;

namespace {

/// A list must not wait for them: finding the best of 30,000 trials takes some 10 ms.
constexpr std::chrono::milliseconds max_time{100};

/// Nothing where no trial has reported a number of the sweep's metric.
std::optional<api::SparklineMessage> sparkline_of(db::ReadStore& store, std::int64_t sweep,
                                                  std::int64_t points) {
  const auto row = store.sweep(sweep);
  if (!row) return {};
  const auto best = store.best_trial(sweep, row->metric, row->goal == jobspec::Goal::maximize);
  if (!best) return {};
  api::SparklineMessage line{std::to_string(sweep), best->to_string(), {}};
  for (const auto& point : store.curve(*best, row->metric, points))
    line.values.push_back(point.value);
  return line;
}

}  // namespace

awaitable<Response> get_sparklines(App& app, const Request& request) {
  const auto sweeps = query_sweeps(app, request, "sweeps");
  const auto points = query_int(request, "points", 16, 1, 100);
  const auto work = [sweeps, points](db::ReadStore& store) {
    const auto end = std::chrono::steady_clock::now() + max_time;
    api::SparklinesAnswer answer;
    for (const std::int64_t sweep : sweeps) {
      if (std::chrono::steady_clock::now() >= end) break;
      if (auto line = sparkline_of(store, sweep, points)) answer.sparklines.push_back(*line);
    }
    return json_response(api::to_json(answer));
  };
  co_return co_await app.reader.run(request.user, work);
}

}  // namespace thalweg::daemon
