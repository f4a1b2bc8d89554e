// GET /v1/forecast: of a trial; /v1/measurements: what predictions rest on.
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "daemon/api/fields.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "db/analysis/forecast.h"
#include "db/analysis/measurements.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

std::optional<double> number_of(const Request& request, const std::string& key) {
  const std::string text = query_text(request, key);
  if (text.empty()) return std::nullopt;
  const json value = json::parse(text, nullptr, false);
  if (!value.is_number()) throw HttpError(400, key + "=" + text + ": expected a number");
  return value.get<double>();
}

/// Runs `study` beside the writer; what is wrong with the request is the client's mistake. To be
/// given a variable: g++ 12 destroys temporaries of a co_await expression twice.
template <class Study>
awaitable<Response> answer(App& app, const Request& request, Study study) {
  const auto work = [study](db::ReadStore& store) {
    try {
      return json_response(api::to_json(study(store)));
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, error.what());
    }
  };
  co_return co_await run_confined(app, request, app.reader, work);
}

}  // namespace

awaitable<Response> get_measurements(App& app, const Request& request) {
  const std::string of = query_text(request, "of"), device = query_text(request, "device");
  const auto study = [of, device](db::ReadStore& store) {
    return db::analysis::read_measurements(store, of, device);
  };
  co_return co_await answer(app, request, study);
}

namespace {

std::optional<double> from_zero(const Request& request, const std::string& key) {
  const auto value = number_of(request, key);
  if (value && *value < 0) throw HttpError(400, key + ": expected a number from 0 on");
  return value;
}

/// Of the partition that was asked for, else of the sweep's: its price, and which sweeps ran there.
void read_partition(const App& app, const Request& request, std::int64_t sweep,
                    db::analysis::ForecastOptions& options) {
  const auto& sweeps = app.controller.state().sweeps;
  const std::string asked = query_text(request, "partition");
  const std::string partition = asked.empty() ? partition_of(sweeps.at(sweep)) : asked;
  options.price = app.config.prices.of(partition);
  options.currency = app.config.prices.currency;
  if (partition.empty()) return;
  options.like.emplace();
  for (const auto& [id, each] : sweeps)
    if (partition_of(each) == partition) options.like->push_back(id);
  if (options.like->empty() && !options.price)
    throw HttpError(400, "nothing is known of partition " + partition +
                             ": no sweep ran there, and config.yaml has no price of it");
}

/// "2:3800.5,4:7100": samples per second by nodes.
std::map<double, double> simulated_speeds(const Request& request) {
  std::map<double, double> speeds;
  for (const std::string& text : query_names(request, "simulated")) {
    const auto colon = text.find(':');
    const json nodes = json::parse(text.substr(0, colon), nullptr, false);
    const json speed =
        colon == std::string::npos ? json() : json::parse(text.substr(colon + 1), nullptr, false);
    if (!nodes.is_number() || !speed.is_number() || !(speed.get<double>() > 0))
      throw HttpError(400,
                      "simulated=" + text + ": expected nodes and samples/s: simulated=2:3800");
    speeds[nodes.get<double>()] = speed.get<double>();
  }
  return speeds;
}

db::analysis::ForecastOptions forecast_options(const App& app, const Request& request,
                                               std::int64_t sweep) {
  db::analysis::ForecastOptions options;
  for (const std::string& text : query_names(request, "nodes")) {
    const json value = json::parse(text, nullptr, false);
    if (!value.is_number_integer() || value.get<double>() < 1)
      throw HttpError(400, "nodes=" + text + ": expected numbers of nodes: nodes=1,2,4");
    options.nodes.push_back(value.get<double>());
  }
  if (options.nodes.empty()) throw HttpError(400, "nodes is missing: nodes=1,2,4");
  options.revocations = from_zero(request, "revocations");
  options.hours = from_zero(request, "hours");
  options.money = from_zero(request, "money");
  options.simulated = simulated_speeds(request);
  if (options.hours && options.money) throw HttpError(400, "either hours or money");
  read_partition(app, request, sweep, options);
  return options;
}

}  // namespace

awaitable<Response> get_forecast(App& app, const Request& request) {
  const jobspec::Id id = parse_id(query_text(request, "trial"));
  if (id.attempt != 0) throw HttpError(400, "trial: expected a trial or a sweep");
  known_sweep(app, request, id.sweep);
  const auto options = forecast_options(app, request, id.sweep);
  const auto study = [id, options](db::ReadStore& store) {
    return db::analysis::forecast_trial(store, id, options);
  };
  co_return co_await answer(app, request, study);
}

}  // namespace thalweg::daemon
