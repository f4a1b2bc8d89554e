// One question per distinct resources: all trials of a sweep share the rest of the request.
#include "daemon/server/forecast.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "daemon/server/http.h"
#include "daemon/state/resources.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

/// Slurm needs milliseconds for each on an idle cluster, a second or more on a full one.
constexpr std::size_t max_questions = 16;

struct Shape {
  const jobspec::ExpandedTrial* first = nullptr;
  std::int64_t trials = 0;
};

std::vector<Shape> shapes_of(const jobspec::Expansion& expansion) {
  std::vector<Shape> shapes;
  std::map<std::string, std::size_t> known;
  for (const auto& trial : expansion.trials) {
    const auto [it, fresh] = known.emplace(resources_json(trial.resources).dump(), shapes.size());
    if (fresh) shapes.push_back({&trial, 0});
    ++shapes[it->second].trials;
  }
  return shapes;
}

std::string refusal(const std::string& backend, const Shape& shape, const std::string& message) {
  const std::string others =
      shape.trials > 1 ? fmt::format(" (and {} more like it)", shape.trials - 1) : "";
  return fmt::format("{} could never run trial {}{}: {}", backend, shape.first->number, others,
                     message);
}

}  // namespace

LaunchRequest example_request(const App& app, const jobspec::Sweep& sweep,
                              const jobspec::ExpandedTrial& trial) {
  LaunchRequest request{
      {0, trial.number, 1},
      "",
      runs_folder(app.config, app.home) / fmt::format("<sweep>/{}/1", trial.number),
      trial.resources,
      sweep.slurm};
  request.own_program = sweep.program.has_value();
  if (sweep.program) request.launch = sweep.program->launch;
  return request;
}

awaitable<std::vector<api::ForecastMessage>> forecasts(App& app, const jobspec::Sweep& sweep,
                                                       const jobspec::Expansion& expansion,
                                                       const std::string& backend,
                                                       const std::optional<Owner>& owner) {
  std::vector<api::ForecastMessage> list;
  if (app.config.site.enabled && !owner) co_return list;
  for (const Shape& shape : shapes_of(expansion)) {
    if (list.size() == max_questions) break;
    LaunchRequest request = example_request(app, sweep, *shape.first);
    if (owner) request.identity = Identity{owner->uid, owner->grant};
    const auto forecast = co_await app.controller.forecast(backend, request);
    if (!forecast) continue;  // nothing to say of this shape
    if (forecast->refused) throw HttpError(400, refusal(backend, shape, forecast->message));
    list.push_back({"." + std::to_string(shape.first->number), shape.trials, forecast->start,
                    forecast->node_list, forecast->partition, forecast->message});
    if (forecast->start == 0) break;  // what it cannot say about one it cannot say about others
  }
  co_return list;
}

}  // namespace thalweg::daemon
