#include "daemon/controller/controller.h"

#include <sys/random.h>

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>

#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/controller/slot.h"
#include "daemon/state/events.h"
#include "daemon/state/resources.h"

namespace thalweg::daemon {

namespace asio = boost::asio;
using nlohmann::json;

namespace {

constexpr double push_batch_s = 0.05;  ///< pushes wait for each other so long: one commit for all
constexpr double idle_round_s = 5;     ///< between rounds while no sweep is active

double unix_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::chrono::nanoseconds seconds(double s) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s));
}

/// Fault points that an event's commit passes.
struct CommitPoints {
  std::string_view kind, inside, after;
};
constexpr CommitPoints commit_points[] = {
    {kind::launching, "", "after_intent"},        {kind::recorded, "", "after_recorded"},
    {kind::released, "", "after_released"},       {kind::running, "", "after_running"},
    {kind::ended, "in_ended", "after_ended"},     {kind::trial_ended, "", "after_trial_ended"},
    {kind::sweep_ended, "", "after_sweep_ended"},
};

void pass_point(const db::Event& event, std::string_view CommitPoints::*which) {
  for (const auto& row : commit_points)
    if (row.kind == event.kind && !(row.*which).empty()) fault::pass(row.*which);
}

json shapes_json(const std::vector<jobspec::ExpandedTrial>& trials) {
  json shapes = json::array();
  json last;
  for (const auto& trial : trials) {
    json shape = resources_json(trial.resources);
    if (shape != last) {
      last = shape;
      shape["count"] = 0;
      shapes.push_back(std::move(shape));
    }
    json& count = shapes.back()["count"];
    count = count.get<std::int64_t>() + 1;
  }
  return shapes;
}

json submitted_data(const jobspec::Sweep& sweep, const jobspec::Expansion& expansion,
                    const std::string& backend) {
  return {{"backend", backend},
          {"metric", metric_json(sweep.metric)},
          {"slurm", slurm_json(sweep.slurm)},
          {"limits",
           {{"max_nodes_in_flight", sweep.limits.max_nodes_in_flight},
            {"node_hours", sweep.limits.node_hours},
            {"max_retries", sweep.limits.max_retries}}},
          {"shapes", shapes_json(expansion.trials)}};
}

db::TrialRow row_of(std::int64_t sweep, const jobspec::ExpandedTrial& trial) {
  db::TrialRow row;
  row.id = {sweep, trial.number, 0};
  row.configuration = trial.configuration;
  row.seed = trial.seed;
  row.hash = trial.hash;
  row.state = to_string(TrialPhase::pending);
  row.train = trial.train.to_json();
  row.parameters = trial.parameters.to_json();
  row.resources = resources_json(trial.resources).dump();
  return row;
}

db::SweepRow row_of(const jobspec::Sweep& sweep) {
  db::SweepRow row;
  row.name = sweep.name;
  row.metric = sweep.metric.name;
  row.goal = sweep.metric.goal == jobspec::Goal::minimize ? "minimize" : "maximize";
  row.target = sweep.metric.target;
  row.state = to_string(SweepPhase::active);
  row.notes = json(sweep.notes).dump(-1, ' ', false, json::error_handler_t::replace);
  return row;
}

}  // namespace

std::string new_token() {
  unsigned char bytes[16];
  if (getrandom(bytes, sizeof bytes, 0) != static_cast<ssize_t>(sizeof bytes))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  std::string token;
  for (const unsigned char byte : bytes)
    token += fmt::format("{:02x}", byte);
  return token;
}

Controller::Controller(asio::any_io_executor executor, db::Store& store, ControllerOptions options,
                       std::vector<BackendSlot> backends)
    : executor_(executor),
      store_(store),
      options_(std::move(options)),
      ingest_(store, options_.now ? options_.now : unix_now),
      ingest_timer_(executor),
      push_timer_(executor) {
  if (!options_.now) options_.now = unix_now;
  for (auto& backend : backends)
    slots_.push_back(std::make_unique<Slot>(std::move(backend), executor));
}

Controller::~Controller() = default;

void Controller::restart() {
  store_.events(0, [this](const db::Event& e) { apply(state_, e); });
  std::int64_t live = 0;
  for (const auto& [id, sweep] : state_.sweeps)
    for (const auto& [trial, attempt] : sweep.live) {
      auto row = store_.attempt(attempt.id);
      if (!row)
        throw std::runtime_error("the database has no row of attempt " + attempt.id.to_string());
      ingest_.add(*row);
      live_rows_[attempt.id] = *std::move(row);
      // It may have been handed over just before the end of the last controller.
      for (auto& slot : slots_)
        if (slot->name == sweep.backend) slot->sightings[attempt.id].in_doubt = true;
      ++live;
    }
  if (state_.last_event > 0)
    log::info(fmt::format("replayed {} events: {} sweeps, {} attempts to look for",
                          state_.last_event, state_.sweeps.size(), live));
}

void Controller::start() {
  run(ingest_loop());
  for (auto& slot : slots_)
    run(backend_loop(*slot));
}

void Controller::stop() {
  stopping_ = true;
  wake();
  ingest_timer_.cancel();
}

void Controller::run(Awaitable<void> loop) {
  asio::co_spawn(executor_, std::move(loop), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
}

Awaitable<void> Controller::pause(asio::steady_timer& timer, double wanted) {
  timer.expires_after(seconds(wanted));
  boost::system::error_code ignored;  // waking up early is an error of the timer
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void Controller::wake() {
  for (auto& slot : slots_) {
    slot->woken = true;
    slot->timer.cancel();
  }
}

void Controller::touch(std::int64_t sweep) {
  ++versions_[sweep];
}

Awaitable<void> Controller::ingest_loop() {
  while (!stopping_) {
    for (const Id& id : ingest_.tick())
      touch(id.sweep);
    settle();
    co_await pause(ingest_timer_, options_.ingest_s);
  }
}

Awaitable<void> Controller::backend_loop(Slot& slot) {
  while (!stopping_) {
    slot.woken = false;
    co_await round(slot);
    double wanted = slot.slot.poll_s;
    bool active = false;
    for (const auto& [id, sweep] : state_.sweeps)
      active = active || sweep.phase == SweepPhase::active;
    if (!active) wanted = idle_round_s;
    if (next_pause_end_ > 0)
      wanted = std::min(wanted, std::max(0.01, next_pause_end_ - options_.now()));
    if (!slot.woken) co_await pause(slot.timer, wanted);
  }
}

db::Event Controller::event(std::string_view kind, const Id& id, std::string data) const {
  return {0, options_.now(), std::string(kind), id, std::move(data)};
}

void Controller::record(std::vector<db::Event> events) {
  if (events.empty()) return;
  try {
    store_.transaction([&] {
      for (auto& e : events) {
        e.number = store_.append_event(e);
        write_rows(store_, live_rows_, state_, e);
        pass_point(e, &CommitPoints::inside);
        apply(state_, e);
      }
    });
  } catch (const std::exception& error) {
    // Memory may be ahead of the database now: only a restart puts that right.
    throw BrokenRecord(error.what());
  }
  for (const auto& e : events) {
    touch(e.id.sweep);
    if (e.kind == kind::launching) ingest_.add(live_rows_.at(e.id));
    if (e.kind == kind::ended) {
      ingest_.remove(e.id);
      for (auto& slot : slots_)
        slot->sightings.erase(e.id);
    }
    // A launching event holds the attempt's token: the log is no place for it.
    if (e.kind == kind::launching)
      log::info(fmt::format("{} launching in {}", e.id.to_string(), live_rows_.at(e.id).folder));
    else if (e.kind != kind::note)
      log::info(fmt::format("{} {} {}", e.id.to_string(), e.kind, e.data.substr(0, 300)));
    pass_point(e, &CommitPoints::after);
  }
}

Plan Controller::plan() {
  Facts facts;
  facts.now = options_.now();
  facts.has_room = [this](const std::string& backend, const jobspec::Resources& wanted,
                          const std::vector<jobspec::Resources>& running) {
    for (const auto& slot : slots_)
      if (slot->name == backend) return slot->slot.backend->has_room(wanted, running);
    return false;
  };
  Plan plan = actions(state_, facts, options_.policy);
  waiting_ = plan.waiting;
  next_pause_end_ = plan.next;
  return plan;
}

/// Does everything that needs no backend, until nothing of it is left.
void Controller::settle() {
  using Kind = Action::Kind;
  for (;;) {
    std::vector<db::Event> events;
    for (const Action& action : plan().actions) {
      if (action.kind == Kind::drop)
        events.push_back(event(kind::ended, action.id,
                               json{{"cause", "cancelled"}, {"reason", action.reason}}.dump()));
      else if (action.kind == Kind::end_trial)
        events.push_back(event(kind::trial_ended, action.id,
                               json{{"state", action.state}, {"reason", action.reason}}.dump()));
      else if (action.kind == Kind::stop_sweep)
        events.push_back(
            event(kind::stopped, action.id,
                  json{{"reason", action.reason}, {"end_running", action.state == "end_running"}}
                      .dump()));
      else if (action.kind == Kind::end_sweep)
        events.push_back(event(kind::sweep_ended, action.id, json{{"state", action.state}}.dump()));
    }
    if (events.empty()) return;
    record(std::move(events));
  }
}

Submitted Controller::submit(const jobspec::Sweep& sweep, const jobspec::Expansion& expansion,
                             const std::string& text, const std::string& file_name,
                             const std::string& backend, const std::string& owner) {
  db::SweepRow row = row_of(sweep);
  row.owner = owner;
  row.backend = backend;
  row.file_name = file_name;
  row.text = text;
  row.submitted = options_.now();
  db::Event submitted =
      event(kind::submitted, {}, submitted_data(sweep, expansion, backend).dump());
  store_.transaction([&] {
    submitted.id.sweep = store_.insert_sweep(row);
    std::vector<db::TrialRow> trials;
    trials.reserve(expansion.trials.size());
    for (const auto& trial : expansion.trials)
      trials.push_back(row_of(submitted.id.sweep, trial));
    store_.insert_trials(trials);
    submitted.number = store_.append_event(submitted);
    fault::pass("in_submission");
  });
  apply(state_, submitted);
  touch(submitted.id.sweep);
  log::info(fmt::format("{} submitted: {}, {} trials on {}", submitted.id.to_string(), sweep.name,
                        expansion.trials.size(), backend));
  fault::pass("after_submission");
  wake();
  Submitted result{submitted.id.sweep, static_cast<std::int64_t>(expansion.trials.size()), 0,
                   expansion.duplicates};
  for (const auto& trial : expansion.trials)
    result.configurations = std::max(result.configurations, trial.configuration);
  return result;
}

std::optional<std::int64_t> Controller::cancel(const Id& id, const std::string& by) {
  const auto it = state_.sweeps.find(id.sweep);
  if (it == state_.sweeps.end() || (id.trial != 0 && state_.trial(id) == nullptr)) return {};
  const std::int64_t open =
      id.trial == 0 ? it->second.open : (is_over(state_.trial(id)->phase) ? 0 : 1);
  if (open == 0) return 0;
  record({event(kind::cancel_requested, {id.sweep, id.trial, 0}, json{{"by", by}}.dump())});
  settle();
  wake();
  return open;
}

std::optional<std::int64_t> Controller::retry(const Id& id, const std::set<std::string>& states,
                                              const std::string& by) {
  const auto it = state_.sweeps.find(id.sweep);
  if (it == state_.sweeps.end() || (id.trial != 0 && state_.trial(id) == nullptr)) return {};
  std::vector<db::Event> events;
  for (std::size_t i = 0; i < it->second.trials.size(); ++i) {
    const TrialState& trial = it->second.trials[i];
    const auto number = static_cast<std::int64_t>(i + 1);
    if ((id.trial == 0 || id.trial == number) && is_over(trial.phase) &&
        states.count(std::string(to_string(trial.phase))) != 0)
      events.push_back(
          event(kind::retry_requested, {id.sweep, number, 0}, json{{"by", by}}.dump()));
  }
  const auto count = static_cast<std::int64_t>(events.size());
  record(std::move(events));
  wake();
  return count;
}

std::optional<std::int64_t> Controller::push(const std::string& token, std::string_view lines) {
  const auto it = state_.tokens.find(token);
  if (it == state_.tokens.end()) return {};
  const auto pushed = ingest_.push(it->second, lines);
  const auto soon = std::chrono::steady_clock::now() + seconds(push_batch_s);
  if (pushed.waiting && ingest_timer_.expiry() > soon) {
    // The loop sleeps until its old end: end that sleep when the batch is full.
    if (!std::exchange(push_batching_, true))
      run([](Controller& self) -> Awaitable<void> {
        co_await self.pause(self.push_timer_, push_batch_s);
        self.push_batching_ = false;
        self.ingest_timer_.cancel();
      }(*this));
  }
  return pushed.next;
}

namespace {

TrialView view_of(const LiveAttempt& attempt, const Feed* feed) {
  TrialView view;
  view.attempt = attempt.id.attempt;
  const bool running = attempt.phase == AttemptPhase::running;
  view.attempt_state = running                                    ? "running"
                       : attempt.phase == AttemptPhase::launching ? "launching"
                                                                  : "queued";
  if (!running)
    view.waiting_for = attempt.phase >= AttemptPhase::released ? "queued" : "being submitted";
  if (feed == nullptr) return view;
  if (feed->start) {
    view.steps = feed->start->steps;
    view.steps_per_epoch = feed->start->steps_per_epoch;
    view.epochs = feed->start->epochs;
  }
  if (feed->last_time > feed->first_time)
    view.steps_per_s = static_cast<double>(feed->last_step - feed->first_step) /
                       (feed->last_time - feed->first_time);
  return view;
}

}  // namespace

SweepView Controller::view(std::int64_t id) const {
  SweepView view;
  view.waiting_for = "waiting for its turn";
  const auto it = state_.sweeps.find(id);
  if (it == state_.sweeps.end()) return view;
  if (const auto reason = waiting_.find({id, 0, 0}); reason != waiting_.end())
    view.waiting_for = reason->second;
  for (const std::int64_t number : it->second.resting)
    if (const auto reason = waiting_.find({id, number, 0}); reason != waiting_.end())
      view.trials[number].waiting_for = reason->second;
  for (const auto& [number, attempt] : it->second.live) {
    const auto known = ingest_.feeds().find(attempt.id);
    TrialView trial = view_of(attempt, known == ingest_.feeds().end() ? nullptr : &known->second);
    for (const auto& slot : slots_)
      if (const auto seen = slot->sightings.find(attempt.id);
          seen != slot->sightings.end() && !seen->second.reason.empty() &&
          attempt.phase != AttemptPhase::running)
        trial.waiting_for = seen->second.reason;
    view.trials[number] = std::move(trial);
  }
  return view;
}

std::uint64_t Controller::version(std::int64_t sweep) const {
  const auto it = versions_.find(sweep);
  return it == versions_.end() ? 0 : it->second;
}

std::vector<std::string> Controller::backends() const {
  std::vector<std::string> names;
  for (const auto& slot : slots_)
    names.push_back(slot->name);
  return names;
}

Awaitable<std::string> Controller::describe(const std::string& backend) {
  for (auto& slot : slots_)
    if (slot->name == backend) co_return co_await slot->slot.backend->describe();
  co_return "";
}

}  // namespace thalweg::daemon
