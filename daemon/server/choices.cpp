// The controller only says which trial waits for its configuration. Here the sweep's file is read
// again, with the engine's schema, and the results with it, off the controller's thread; the choice
// is an event. A trial is never held up for good: where nothing can be chosen it keeps the draw
// that it was submitted with, and the record says why.
#include "daemon/server/choices.h"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/controller/log.h"
#include "daemon/server/forecast.h"
#include "daemon/server/http.h"
#include "daemon/state/actions.h"
#include "jobspec/record_text.h"
#include "jobspec/schema.h"
#include "jobspec/search/study.h"
#include "jobspec/suggest.h"

namespace thalweg::daemon {

using boost::asio::awaitable;

namespace {

constexpr auto between_looks = std::chrono::milliseconds(200);

/// What the record has of the sweep.
struct TriedTrials {
  db::SweepRow row;
  std::vector<db::TrialRow> trials;
  std::map<std::int64_t, db::ReadStore::Latest> latest;  ///< of the sweep's metric, by trial
};

std::shared_ptr<const TriedTrials> read_tried(db::ReadStore& store, std::int64_t id) {
  auto known = std::make_shared<TriedTrials>();
  known->row = store.sweep(id).value();
  known->trials = store.trials(id);
  for (const auto& latest : store.latest(id, known->row.metric))
    known->latest.emplace(latest.trial.trial, latest);
  return known;
}

struct ChoiceWork {
  std::shared_ptr<const TriedTrials> known;
  std::shared_ptr<const jobspec::Schema> schema;
  jobspec::SiteLimits site;
  std::string directory;
  std::int64_t trial, configured;
  bool tunes;  ///< a study

  std::vector<jobspec::Observed> observed() const {
    using State = jobspec::Observed::State;
    std::vector<jobspec::Observed> result;
    for (const db::TrialRow& row : known->trials) {
      if (row.id.trial > configured) break;
      jobspec::Observed one;
      one.parameters = jobspec::read_yaml(row.parameters, row.id.to_string());
      one.configuration = row.configuration;
      one.state = row.state == TrialPhase::finished ? State::ended
                  : is_over(row.state)              ? State::failed
                                                    : State::running;
      if (const auto it = known->latest.find(row.id.trial); it != known->latest.end()) {
        if (it->second.diverged()) {
          one.state = State::failed;  // without a value: the worst there is
        } else {
          one.value = it->second.best(known->row.goal == jobspec::Goal::maximize);
          one.latest = it->second.value;
        }
      }
      result.push_back(std::move(one));
    }
    return result;
  }

  std::optional<jobspec::Suggestion> suggestion(std::int64_t configuration) const {
    jobspec::Sweep sweep = jobspec::parse_sweep(known->row.text, known->row.name, *schema, site);
    sweep.directory = directory;
    sweep.metric.name = known->row.metric;
    sweep.metric.goal = known->row.goal;
    std::set<std::string> taken;
    for (const db::TrialRow& row : known->trials)
      if (row.id.trial <= configured) taken.insert(row.hash);
    return jobspec::suggest(sweep, *schema, observed(), taken, configuration, known->row.id);
  }

  /// Of a study: the best draw of each value at once, also for seeds that are added later.
  std::vector<Controller::Choice> winners() const {
    const std::string compare =
        jobspec::study_seeds(jobspec::read_yaml(known->row.text, known->row.name)).value().compare;
    const std::vector<jobspec::Observed> all = observed();
    std::vector<Controller::Choice> choices;
    for (const db::TrialRow& row : known->trials)
      if (row.id.trial > configured && row.attempts == 0)
        choices.push_back(winner(row, compare, all));
    return choices;
  }

  Controller::Choice winner(const db::TrialRow& wanted, const std::string& compare,
                            const std::vector<jobspec::Observed>& all) const {
    const auto choice_of = [&](const db::TrialRow& row, std::string reason) {
      return Controller::Choice{wanted.id, row.parameters, row.train, row.hash, std::move(reason)};
    };
    // Where seeds are added what has won before stays.
    for (const db::TrialRow& row : known->trials)
      if (row.configuration == wanted.configuration && row.id.trial <= configured)
        return choice_of(row, fmt::format("as trial {}", row.id.to_string()));
    const jobspec::Value own = jobspec::read_yaml(wanted.parameters, wanted.id.to_string());
    std::vector<jobspec::Observed> draws;
    for (const jobspec::Observed& each : all)
      if (*each.parameters.find(compare) == *own.find(compare)) draws.push_back(each);
    jobspec::Metric metric;
    metric.name = known->row.metric;
    metric.goal = known->row.goal;
    const auto best = jobspec::best_draw(draws, metric);
    if (!best)
      return choice_of(
          wanted, fmt::format("none of {} draws has a value: the first one again", draws.size()));
    const auto row = std::find_if(
        known->trials.begin(), known->trials.end(),
        [&](const db::TrialRow& each) { return each.configuration == best->configuration; });
    return choice_of(*row, best->reason);
  }

  std::vector<Controller::Choice> operator()() const {
    if (tunes) return winners();
    const db::TrialRow& wanted = known->trials.at(static_cast<std::size_t>(trial - 1));
    Controller::Choice choice{{}, wanted.parameters, wanted.train, wanted.hash, {}};
    try {
      const auto found = suggestion(wanted.configuration);
      if (found)
        choice = {{},
                  found->trial.parameters.to_json(),
                  jobspec::record_text(found->trial.train),
                  found->trial.hash,
                  found->reason};
      else
        choice.reason = "drawn: no trial has a result yet";
    } catch (const std::exception& error) {
      choice.reason = fmt::format("drawn, for nothing could be chosen: {}", error.what());
      log::warning(fmt::format("sweep {}: {}", known->row.id, choice.reason),
                   {.id = {.sweep = known->row.id}});
    }
    std::vector<Controller::Choice> choices;
    for (const db::TrialRow& row : known->trials)
      if (row.configuration == wanted.configuration && row.id.trial >= trial &&
          !is_over(row.state)) {
        choice.trial = row.id;
        choices.push_back(choice);
      }
    return choices;
  }
};

awaitable<void> choose(App& app, std::int64_t id, std::int64_t trial) {
  const auto find = [id](db::ReadStore& store) { return read_tried(store, id); };
  const auto known = co_await app.reader.run(geteuid(), find);
  const auto schema = co_await schema_for(app, known->row.text, geteuid());
  const auto it = app.controller.state().sweeps.find(id);
  if (it == app.controller.state().sweeps.end()) co_return;
  const ChoiceWork work{known,
                        schema,
                        site_limits(app.config),
                        it->second.directory,
                        trial,
                        it->second.configured,
                        jobspec::waits_for_draws(*it->second.learning)};
  app.controller.choose(co_await app.choosing.run(work));
}

awaitable<void> look_again(App& app) {
  Timer timer(co_await boost::asio::this_coro::executor);
  std::string warned;
  for (;;) {
    std::vector<std::pair<std::int64_t, std::int64_t>> wanted;
    for (const auto& [id, sweep] : app.controller.state().sweeps)
      if (const auto trial = next_choice(sweep)) wanted.emplace_back(id, *trial);
    for (const auto& [id, trial] : wanted) {
      try {
        co_await choose(app, id, trial);
      } catch (const std::exception& error) {
        // The record cannot be written now, say, or the engine not be started: the next look tries
        // again.
        const std::string text = fmt::format("sweep {}: {}", id, error.what());
        if (std::exchange(warned, text) != text) log::warning(text);
      }
    }
    timer.expires_after(between_looks);
    co_await timer.async_wait(boost::asio::use_awaitable);
  }
}

}  // namespace

void choose_by_results(App& app) {
  boost::asio::co_spawn(app.choosing.executor(), look_again(app), boost::asio::detached);
}

}  // namespace thalweg::daemon
