// GET /v1/studies and /v1/studies/{name}: every row of db/studies, and its answer.
#include "db/studies/study.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/machine.h"
#include "daemon/api/study_messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"

namespace thalweg::daemon {

using boost::asio::awaitable;
using nlohmann::json;

namespace {

const db::Study& known_study(const std::string& name) {
  if (const db::Study* study = db::find_study(name)) return *study;
  std::string names;
  for (const db::Study* each : db::studies())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each->name);
  throw HttpError(404, "there is no study " + name + " (there are: " + names + ")");
}

/// Of the partition that is asked for, else of the sweep's: its price, and which sweeps ran there.
db::StudyRequest::Partition read_partition(const App& app, const std::string& asked,
                                           std::int64_t sweep) {
  const auto& sweeps = app.controller.state().sweeps;
  const std::string partition = asked.empty() ? partition_of(sweeps.at(sweep)) : asked;
  db::StudyRequest::Partition known;
  known.price = app.config.prices.of(partition);
  known.currency = app.config.prices.currency;
  if (partition.empty()) return known;
  known.sweeps.emplace();
  for (const auto& [id, each] : sweeps)
    if (partition_of(each) == partition) known.sweeps->push_back(id);
  if (known.sweeps->empty() && !known.price)
    throw HttpError(400, "nothing is known of partition " + partition +
                             ": no sweep ran there, and config.yaml has no price for it");
  return known;
}

/// Of a study of trials them, or attempts of them; of one of the record trials, or sweeps for their
/// best ones, or none.
std::vector<jobspec::Id> query_trials(const App& app, const Request& request,
                                      const db::Study& study) {
  const bool of_trials = study.of == db::Study::Of::trials;
  std::vector<jobspec::Id> trials;
  for (const std::string& name : query_names(request, "trials")) {
    const jobspec::Id& id = trials.emplace_back(parse_id(name));
    if (of_trials ? id.trial == 0 : id.attempt != 0)
      throw HttpError(400, "trials=" + name + ": expected ids of trials");
    if (id.trial == 0)
      known_sweep(app, request, id.sweep);
    else
      check_trial(app, request, {id.sweep, id.trial, 0});
  }
  if (of_trials && trials.empty()) throw HttpError(400, "trials is missing: trials=12.3,12.4");
  return trials;
}

db::StudyRequest study_request(const App& app, const Request& request, const db::Study& study) {
  using Of = db::Study::Of;
  db::StudyRequest asked;
  const std::string ids = study.of == Of::trials || study.of == Of::record ? "trials" : "sweeps";
  if (ids == "trials") {
    asked.trials = query_trials(app, request, study);
  } else {
    asked.sweeps = query_sweeps(app, request, ids);
    if (asked.sweeps.empty()) throw HttpError(400, "sweeps is missing: sweeps=12,13");
  }
  if (study.of == Of::record && !asked.trials.empty())
    asked.partition =
        read_partition(app, query_text(request, "partition"), asked.trials.front().sweep);
  asked.for_scripts = query_text(request, "scripts") == "1";
  asked.now = unix_now();
  asked.prices = prices_of(app, asked.sweeps);
  for (const auto& [key, value] : request.query) {
    if (key == ids || key == "chart" || key == "scripts") continue;
    const db::StudyOption* option = nullptr;
    for (const db::StudyOption& each : study.options)
      if (each.name == key) option = &each;
    if (!option) throw HttpError(400, fmt::format("{} has no option {}", study.name, key));
    try {
      if (!value.empty()) asked.set(*option, value);
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, error.what());
    }
  }
  return asked;
}

/// What is drawn only where it is asked for.
json json_of(const db::Study& study, db::DataTable table, bool charts) {
  if (!charts) table.charts.clear();
  json answer = api::to_json(table);
  answer["study"] = study.name;
  return answer;
}

}  // namespace

awaitable<Response> get_studies(App&, const Request&) {
  json list = json::array();
  for (const db::Study* study : db::studies()) {
    json options = json::array();
    for (const db::StudyOption& option : study->options)
      options.push_back({{"name", option.name}, {"help", option.help}});
    list.push_back({{"name", study->name},
                    {"summary", study->summary},
                    {"of", jobspec::name_of(study->of)},
                    {"options", options}});
  }
  co_return json_response({{"studies", list}});
}

awaitable<Response> get_study(App& app, const Request& request) {
  const db::Study& study = known_study(request.parts.at("name"));
  const db::StudyRequest asked = study_request(app, request, study);
  const bool chart = query_text(request, "chart") == "1";
  const auto work = [&study, asked, chart](db::ReadStore& store) {
    try {
      return json_response(json_of(study, study.run(store, asked), chart));
    } catch (const std::invalid_argument& error) {
      throw HttpError(400, error.what());
    } catch (const std::out_of_range& error) {
      throw HttpError(404, error.what());
    }
  };
  co_return co_await run_confined(app, request, app.reader, work);
}

}  // namespace thalweg::daemon
