// What the controller is told and asked: commands, which commit before they return, and views.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "daemon/api/messages.h"
#include "daemon/controller/backend_context.h"
#include "daemon/controller/controller.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"
#include "daemon/state/resources.h"
#include "daemon/state/seed_looks.h"
#include "jobspec/record_text.h"

namespace thalweg::daemon {

using nlohmann::json;

namespace {

constexpr double push_batch_s = 0.05;  ///< pushes wait for each other so long: one commit for all

bool same(const jobspec::Resources& a, const jobspec::Resources& b) {
  return resources_json(a) == resources_json(b);
}

std::vector<event::Submitted::Shape> shapes_of(const std::vector<jobspec::ExpandedTrial>& trials) {
  std::vector<event::Submitted::Shape> shapes;
  for (const auto& trial : trials) {
    if (shapes.empty() || !same(shapes.back().resources, trial.resources))
      shapes.push_back({trial.resources, 0});
    shapes.back().count += 1;
  }
  return shapes;
}

event::Submitted submitted_event(const jobspec::Sweep& sweep, const jobspec::Expansion& expansion,
                                 const std::string& backend, const std::optional<Owner>& owner) {
  event::Submitted event{backend,
                         sweep.metric,
                         sweep.slurm,
                         sweep.limits,
                         shapes_of(expansion.trials),
                         sweep.keep,
                         sweep.directory,
                         sweep.program,
                         sweep.early_terminate,
                         {},
                         owner,
                         jobspec::start_order(sweep)};
  std::optional<jobspec::Learning> learning = sweep.learning;
  // Equal draws run once: only the expansion knows how many there are.
  if (sweep.study) learning->initial = expansion.draws / learning->seeds;
  event.set_learning(learning);
  event.promotion = sweep.promotion;
  event.seed_plan = expansion.seed_plan;
  if (!sweep.after.empty()) event.after.emplace();
  for (const std::string& other : sweep.after)
    event.after->push_back(Id::parse(other).value().sweep);
  return event;
}

db::TrialRow row_of(std::int64_t sweep, const jobspec::ExpandedTrial& trial) {
  db::TrialRow row;
  row.id = {sweep, trial.number, 0};
  row.configuration = trial.configuration;
  row.seed = trial.seed;
  row.hash = trial.hash;
  row.state = TrialPhase::pending;
  row.train = jobspec::record_text(trial.train);
  row.parameters = trial.parameters.to_json();
  row.resources = api::json_text(resources_json(trial.resources));
  return row;
}

std::vector<db::TrialRow> rows_of(std::int64_t sweep,
                                  const std::vector<jobspec::ExpandedTrial>& trials) {
  std::vector<db::TrialRow> rows;
  rows.reserve(trials.size());
  for (const auto& trial : trials)
    rows.push_back(row_of(sweep, trial));
  return rows;
}

db::SweepRow row_of(const jobspec::Sweep& sweep) {
  db::SweepRow row;
  row.name = sweep.name;
  row.metric = sweep.metric.name;
  row.goal = sweep.metric.goal;
  row.target = sweep.metric.target();
  row.targets = sweep.metric.targets;
  row.state = SweepPhase::active;
  row.notes = api::json_text(json(sweep.notes));
  return row;
}

}  // namespace

void Controller::insert(const db::SweepRow& row, const jobspec::Expansion& expansion,
                        const std::vector<std::string>& environment, db::Event& submitted) {
  store_.transaction([&] {
    submitted.id.sweep = store_.insert_sweep(row);
    store_.insert_trials(rows_of(submitted.id.sweep, expansion.trials));
    if (!environment.empty())
      store_.insert_environment(submitted.id.sweep, json(environment).dump());
    submitted.number = store_.append_event(submitted);
    fault::pass("in_submission");
  });
}

Submitted Controller::submit(const jobspec::Sweep& sweep, const jobspec::Expansion& expansion,
                             const std::string& text, const std::string& file_name,
                             const std::string& backend, const std::string& owner,
                             const std::vector<std::string>& environment,
                             const std::optional<Owner>& runs_as) {
  db::SweepRow row = row_of(sweep);
  row.owner = owner;
  row.backend = backend;
  row.file_name = file_name;
  row.text = text;
  row.submitted = options_.now();
  db::Event submitted =
      new_event(options_.now(), {}, submitted_event(sweep, expansion, backend, runs_as));
  try {
    insert(row, expansion, environment, submitted);
  } catch (const db::CannotWrite& error) {
    cannot_write(error);
    throw;
  }
  apply(state_, submitted);
  touch(submitted.id.sweep);
  log::info(fmt::format("{} submitted: {}, {} trials on {}", submitted.id.to_string(), sweep.name,
                        expansion.trials.size(), backend),
            {submitted.id, submitted.kind});
  fault::pass("after_submission");
  wake();
  Submitted result{submitted.id.sweep, static_cast<std::int64_t>(expansion.trials.size()), 0,
                   expansion.duplicates};
  for (const auto& trial : expansion.trials)
    result.configurations = std::max(result.configurations, trial.configuration);
  return result;
}

void Controller::extend(const Extension& with) {
  const Id id{with.sweep, 0, 0};
  std::vector<db::Event> events;
  for (const db::TrialRow& row : with.lengthened)
    events.push_back(
        new_event(options_.now(), row.id, event::Lengthened{row.train, row.hash, with.by}));
  // Also without trials: it tells the changes.
  events.push_back(new_event(
      options_.now(), id,
      event::TrialsAdded{with.changes, with.limits, shapes_of(with.missing), with.keep, with.by}));
  try {
    store_.transaction([&] {
      store_.insert_trials(rows_of(with.sweep, with.missing));
      store_.update_sweep_text(with.sweep, with.text);
      for (db::Event& e : events) {
        e.number = store_.append_event(e);
        write_rows(store_, live_rows_, state_, e);
      }
      fault::pass("in_extension");
    });
  } catch (const db::CannotWrite& error) {
    cannot_write(error);
    throw;
  }
  for (const db::Event& e : events)
    apply(state_, e);
  touch(with.sweep);
  log::info(fmt::format("{} extended ({}): {} trials added, {} continue", with.sweep,
                        fmt::join(with.changes, ", "), with.missing.size(), with.lengthened.size()),
            {.id = {.sweep = with.sweep}});
  fault::pass("after_extension");
  wake();
}

bool Controller::choose(const std::vector<Choice>& choices) {
  std::vector<db::Event> events;
  for (const Choice& each : choices) {
    const auto it = state_.sweeps.find(each.trial.sweep);
    if (it == state_.sweeps.end() || !it->second.can_be_given(each.trial.trial)) return false;
    events.push_back(new_event(options_.now(), each.trial,
                               event::Chosen{each.parameters, each.train, each.hash, each.reason}));
  }
  fault::pass("before_choice");
  record(std::move(events));
  fault::pass("after_choice");
  wake();
  return true;
}

std::optional<db::SweepRow> Controller::label(std::int64_t sweep, const Labels& labels,
                                              const std::string& by) {
  if (!state_.sweeps.contains(sweep) || state_.sweeps.at(sweep).removing) return {};
  auto row = store_.sweep(sweep);
  if (!row) return {};
  std::set<std::string> tags(row->tags.begin(), row->tags.end());
  tags.insert(labels.add_tags.begin(), labels.add_tags.end());
  for (const std::string& tag : labels.remove_tags)
    tags.erase(tag);
  row->tags.assign(tags.begin(), tags.end());
  row->name = labels.name.value_or(row->name);
  row->comment = labels.comment.value_or(row->comment);
  record({new_event(options_.now(), {sweep, 0, 0},
                    event::Labelled{row->name, row->comment, row->tags, by})});
  return row;
}

void Controller::set_policy(const Policy& policy) {
  options_.policy = policy;
  wake();
}

bool Controller::share(std::int64_t sweep, std::vector<std::string> groups, const std::string& by) {
  const auto it = state_.sweeps.find(sweep);
  if (it == state_.sweeps.end() || it->second.removing) return false;
  record({new_event(options_.now(), {sweep, 0, 0}, event::Shared{std::move(groups), by})});
  return true;
}

std::optional<std::int64_t> Controller::cancel(const Id& id, const std::string& by) {
  const auto it = state_.sweeps.find(id.sweep);
  if (it == state_.sweeps.end() || it->second.removing ||
      (id.trial != 0 && state_.trial(id) == nullptr))
    return {};
  const std::int64_t open =
      id.trial == 0 ? it->second.open : (is_over(state_.trial(id)->phase) ? 0 : 1);
  if (open == 0) return 0;
  record({new_event(options_.now(), {id.sweep, id.trial, 0}, event::CancelRequested{by})});
  settle();
  wake();
  return open;
}

std::vector<Id> to_retry(const SweepState& sweep, std::int64_t trial,
                         const std::set<TrialPhase>& phases) {
  std::vector<Id> ids;
  if (sweep.imported()) return ids;  // there is nothing to run
  for (std::size_t i = 0; i < sweep.trials.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i + 1);
    const TrialPhase phase = sweep.trials[i].phase;
    if ((trial == 0 || trial == number) && is_over(phase) && phases.contains(phase))
      ids.push_back({sweep.id, number, 0});
  }
  return ids;
}

std::optional<std::int64_t> Controller::retry(const Id& id, const std::set<TrialPhase>& phases,
                                              const std::string& by) {
  const auto it = state_.sweeps.find(id.sweep);
  if (it == state_.sweeps.end() || it->second.removing ||
      (id.trial != 0 && state_.trial(id) == nullptr))
    return {};
  std::vector<db::Event> events;
  for (const Id& trial : to_retry(it->second, id.trial, phases))
    events.push_back(new_event(options_.now(), trial, event::RetryRequested{by}));
  const auto count = static_cast<std::int64_t>(events.size());
  record(std::move(events));
  wake();
  return count;
}

bool Controller::may_push(const std::string& secret) const {
  return !secret.empty() && state_.secrets.contains(secret);
}

bool Controller::is_given_up(const std::string& secret) const {
  if (state_.past_secrets.contains(secret)) return true;
  const auto it = state_.secrets.find(secret);
  return it != state_.secrets.end() && !state_.live(it->second)->fenced.empty();
}

std::optional<std::int64_t> Controller::push(const std::string& secret, std::string_view lines) {
  const auto it = state_.secrets.find(secret);
  if (it == state_.secrets.end()) return {};
  // What cannot be written is not collected in memory: the file has it.
  if (!unwritable_.empty()) return ingest_.find(it->second)->next;
  const auto pushed = ingest_.push(it->second, lines);
  // The ingest loop sleeps until its old end: end that sleep when the batch is full.
  if (pushed.waiting && !std::exchange(push_batching_, true))
    run([](Controller& self) -> Awaitable<void> {
      co_await self.pause(self.push_timer_, push_batch_s);
      self.push_batching_ = false;
      self.ingest_timer_.cancel();
    }(*this));
  return pushed.next;
}

namespace {

TrialView view_of(const LiveAttempt& attempt, const JournalReader* reader) {
  TrialView view;
  view.attempt = attempt.id.attempt;
  const bool running = attempt.phase == AttemptPhase::running;
  view.attempt_state = state_of(attempt.phase);
  if (!running)
    view.waiting_for = attempt.phase >= AttemptPhase::released ? "queued" : "being submitted";
  if (!attempt.fenced.empty())
    view.waiting_for = "the end of " + attempt.id.to_string() + ": " + attempt.fenced;
  if (reader == nullptr) return view;
  if (reader->start) {
    view.steps = reader->start->steps;
    view.steps_per_epoch = reader->start->steps_per_epoch;
    view.epochs = reader->start->epochs;
  }
  if (reader->last_time > reader->first_time)
    view.steps_per_s =
        (static_cast<double>(reader->last_step) - static_cast<double>(reader->first_step)) /
        (reader->last_time - reader->first_time);
  return view;
}

}  // namespace

namespace {

std::string last_end(const TrialState& trial) {
  if (trial.last == EndCause::none) return "";
  return trial.reason.empty() ? std::string(name_of(trial.last)) : trial.reason;
}

}  // namespace

SweepView Controller::view(std::int64_t id) const {
  SweepView view;
  view.waiting_for = "waiting for its turn";
  const auto it = state_.sweeps.find(id);
  if (it == state_.sweeps.end()) return view;
  view.keep = jobspec::describe(it->second.keep);
  view.pruned = it->second.pruned;
  view.freed_bytes = it->second.freed_bytes;
  view.groups = it->second.groups;
  view.looks = describe_looks(it->second);
  if (const auto reason = waiting_.find({id, 0, 0}); reason != waiting_.end())
    view.waiting_for = reason->second;
  if (!no_space_.empty()) view.waiting_for = no_space_;
  for (const std::int64_t number : it->second.awaiting_decision) {
    if (const auto reason = waiting_.find({id, number, 0}); reason != waiting_.end())
      view.trials[number].waiting_for = reason->second;
    if (const auto known = view.trials.find(number); known != view.trials.end())
      known->second.last_end = last_end(*state_.trial({id, number, 0}));
  }
  for (const std::int64_t number : it->second.paused)
    if (const auto reason = waiting_.find({id, number, 0}); reason != waiting_.end())
      view.trials[number].waiting_for = reason->second;
  for (const auto& [number, attempt] : it->second.live) {
    const auto known = ingest_.readers().find(attempt.id);
    TrialView trial = view_of(attempt, known == ingest_.readers().end() ? nullptr : &known->second);
    for (const auto& context : contexts_)
      if (const auto seen = context->observations.find(attempt.id);
          seen != context->observations.end() && !seen->second.reason.empty() &&
          attempt.phase != AttemptPhase::running && attempt.fenced.empty())
        trial.waiting_for = seen->second.reason;
    trial.last_end = last_end(*state_.trial({id, number, 0}));
    view.trials[number] = std::move(trial);
  }
  return view;
}

}  // namespace thalweg::daemon
