#include "daemon/controller/controller.h"

#include <sys/random.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/machine.h"
#include "daemon/api/messages.h"
#include "daemon/controller/backend_context.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/controller/seed_looks.h"
#include "daemon/state/events.h"
#include "daemon/state/resources.h"

namespace thalweg::daemon {

namespace asio = boost::asio;
using nlohmann::json;

namespace {

constexpr double description_s = 60;  ///< between two looks at what a backend is
constexpr double upkeep_patience_s = 10;
constexpr double idle_round_s = 5;  ///< between rounds while no sweep is active

/// The defaults of both clocks and of tokens.
ControllerOptions with_defaults(ControllerOptions options) {
  if (!options.steady && options.now) options.steady = options.now;
  if (!options.steady)
    options.steady = [start = unix_now(), begin = Clock::now()] {
      const std::chrono::duration<double> since = Clock::now() - begin;
      return start + since.count();
    };
  if (!options.now) options.now = unix_now;
  if (!options.token) options.token = new_token;
  return options;
}

std::chrono::nanoseconds seconds(double s) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s));
}

/// Fault points that an event's commit passes.
struct CommitPoints {
  std::string_view kind, inside, after;
};
constexpr CommitPoints commit_points[] = {
    {event::Launching::kind, "", "after_intent"},
    {event::Recorded::kind, "", "after_recorded"},
    {event::Released::kind, "", "after_released"},
    {event::Running::kind, "", "after_running"},
    {event::Ended::kind, "in_ended", "after_ended"},
    {event::TrialEnded::kind, "", "after_trial_ended"},
    {event::SweepEnded::kind, "", "after_sweep_ended"},
    {event::SeedLook::kind, "in_look", "after_look"},
};

void pass_point(const db::Event& event, std::string_view CommitPoints::*which) {
  for (const auto& row : commit_points)
    if (row.kind == event.kind && !(row.*which).empty()) fault::pass(row.*which);
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
                       std::vector<BackendSetup> backends)
    : executor_(executor),
      store_(store),
      options_(with_defaults(std::move(options))),
      disk_(
          options_.disk_s, [] { fault::pass("on_disk"); }, options_.threads),
      upkeep_disk_(upkeep_patience_s, {}, options_.threads),
      upkeep_worker_(executor, options_.threads),
      upkeep_timer_(executor),
      ingest_(store, options_.now, options_.steady, &disk_, options_.journals),
      early_stops_(store),
      ingest_timer_(executor),
      push_timer_(executor) {
  for (auto& backend : backends)
    contexts_.push_back(std::make_unique<BackendContext>(std::move(backend), executor));
}

Controller::~Controller() = default;

/// Memory as the database has it. Returns the last sweep that it knows of.
std::int64_t Controller::replay() {
  state_ = State();
  live_rows_.clear();
  std::int64_t last = 0;
  store_.events(0, [&](const db::Event& e) {
    apply(state_, e);
    last = std::max(last, e.id.sweep);
  });
  for (const auto& [id, sweep] : state_.sweeps)
    for (const auto& [trial, attempt] : sweep.live) {
      auto row = store_.attempt(attempt.id);
      if (!row)
        throw std::runtime_error("the database has no row of attempt " + attempt.id.to_string());
      live_rows_[attempt.id] = *std::move(row);
    }
  return last;
}

/// Where the newest part of the database is gone (its -wal file removed or cut), nothing in it says
/// so; the run folders do.
void Controller::look_for_lost_sweeps(std::int64_t last_known) {
  const auto look = [runs = options_.runs, last_known] {
    std::set<std::int64_t> found;
    std::error_code error;
    for (std::filesystem::directory_iterator it(runs, error), end; !error && it != end;
         it.increment(error)) {
      const auto id = Id::parse(it->path().filename().string());
      if (id && id->trial == 0 && id->sweep > last_known) found.insert(id->sweep);
    }
    return found;
  };
  std::set<std::int64_t> lost;
  try {
    lost = disk_.run(look);
  } catch (const DiskHangs&) {
    // It is said elsewhere.
  }
  if (lost.empty()) return;
  lost_sweeps_ = fmt::format(
      "{} has folders of sweeps that the record does not know ({}): its latest entries are lost "
      "(was thalweg.db-wal removed?). Restore a backup with thalweg restore; move the folders away "
      "if they are not needed",
      options_.runs.string(), fmt::join(lost, ", "));
  log::warning(lost_sweeps_);
}

void Controller::restart() {
  look_for_lost_sweeps(replay());
  std::int64_t live = 0;
  for (const auto& [id, sweep] : state_.sweeps) {
    // The last controller may have given up what it had handed over and not yet heard of.
    BackendContext* const context = context_of(sweep.backend);
    if (context && sweep.last_launch > 0) context->active = options_.steady();
    for (const auto& [trial, attempt] : sweep.live) {
      ingest_.add(live_rows_.at(attempt.id));
      // It may have been handed over just before the end of the last controller.
      if (context) context->observations[attempt.id].in_doubt = true;
      ++live;
    }
  }
  if (state_.last_event > 0)
    log::info(fmt::format("replayed {} events: {} sweeps, {} attempts to look for",
                          state_.last_event, state_.sweeps.size(), live));
}

void Controller::start() {
  run(ingest_loop());
  run(upkeep_loop());
  for (auto& context : contexts_) {
    context->setup.backend->tell_ends(executor_, [&context = *context] { context.wake(); });
    run(backend_loop(*context));
    run(description_loop(*context));
  }
}

void Controller::stop() {
  stopping_ = true;
  wake();
  for (auto& context : contexts_) {
    context->setup.backend->tell_ends({}, {});
    context->description_timer.cancel();
  }
  ingest_timer_.cancel();
  upkeep_timer_.cancel();
}

void Controller::run(Awaitable<void> loop) {
  asio::co_spawn(executor_, std::move(loop), [](std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
  });
}

Awaitable<void> Controller::pause(Timer& timer, double wanted) {
  timer.expires_after(seconds(wanted));
  boost::system::error_code ignored;  // waking up early is an error of the timer
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

void Controller::contain(const std::string& where) {
  constexpr std::size_t most = 1000;
  try {
    throw;
  } catch (const db::Error&) {
    throw;
  } catch (const BrokenRecord&) {
    throw;
  } catch (const DiskHangs&) {
    throw;
  } catch (const std::exception& error) {
    if (stopping_) throw;
    const std::string text = where + ": " + error.what();
    if (contained_.size() < most && contained_.insert(text).second) log::error(text);
  }
}

void Controller::wake() {
  for (auto& context : contexts_)
    context->wake();
}

void Controller::touch(std::int64_t sweep) {
  ++versions_[sweep];
}

Awaitable<void> Controller::ingest_loop() {
  while (!stopping_) {
    try {
      if (!unwritable_.empty()) write_again();
      const std::vector<Id> news = ingest_.tick();
      for (const Id& id : news)
        touch(id.sweep);
      end_early(news);
      note_disk();
      settle();
      fill_old_records();
      if (options_.steady() - checkpointed_ > options_.checkpoint_s) checkpoint();
    } catch (const db::CannotWrite& error) {
      cannot_write(error);
    }
    co_await pause(ingest_timer_, unwritable_.empty() ? options_.ingest_s : options_.write_again_s);
  }
}

/// What runs on this machine is paid for by its clock, which somebody may set.
void Controller::note_clock() {
  constexpr double worth_noting_s = 60;
  const double ahead = options_.now() - options_.steady();
  const double set = ahead - std::exchange(clock_ahead_, ahead).value_or(ahead);
  if (std::abs(set) < worth_noting_s) return;
  log::warning(
      fmt::format("the clock was set {} by {:.0f} s", set > 0 ? "on" : "back", std::abs(set)));
  std::vector<db::Event> events;
  for (const auto& [id, sweep] : state_.sweeps) {
    const BackendContext* const context = context_of(sweep.backend);
    if (!context || !context->setup.backend->on_this_machine()) continue;
    for (const auto& [trial, attempt] : sweep.live)
      if (attempt.started > 0)
        events.push_back(new_event(options_.now(), attempt.id, event::ClockSet{set}));
  }
  if (!events.empty()) record(std::move(events));
}

/// Those that others have left far behind.
void Controller::end_early(const std::vector<Id>& news) {
  bool any = false;
  for (const auto& [trial, reason] : early_stops_.look(state_, news)) {
    log::info(trial.to_string() + " is " + reason, {trial, event::TerminatedEarly::kind});
    record({new_event(options_.now(), trial, event::TerminatedEarly{reason})});
    any = true;
  }
  if (any) wake();
}

/// One a round, so that nobody waits for it.
void Controller::fill_old_records() {
  if (!filling_) return;
  try {
    filling_ = ingest_.fill_one();
  } catch (const DiskHangs&) {
    // The next round tries again.
  }
}

Awaitable<void> Controller::backend_loop(BackendContext& context) {
  while (!stopping_) {
    context.woken = false;
    try {
      if (unwritable_.empty()) co_await round(context);
    } catch (const db::CannotWrite& error) {
      cannot_write(error);
    } catch (const DiskHangs&) {
      note_disk();  // the next round tries again; nothing is decided without a look
    } catch (const std::exception&) {
      contain("backend " + context.name);
    }
    double wanted = context.setup.poll_s;
    bool active = false;
    for (const auto& [id, sweep] : state_.sweeps)
      active = active || sweep.phase == SweepPhase::active;
    if (!active) wanted = idle_round_s;
    if (next_pause_end_ > 0)
      wanted = std::min(wanted, std::max(0.01, next_pause_end_ - options_.now()));
    if (!context.woken) co_await pause(context.timer, wanted);
  }
}

/// A trial's end follows from its attempts'. What an attempt on this machine did meanwhile no
/// longer matters where the machine has lost its power, which ended it; that it was launched does.
bool Controller::is_seen_again(const db::Event& e) const {
  if (is<event::TrialEnded>(e)) return true;
  if (!is<event::Recorded>(e) && !is<event::Released>(e) && !is<event::Running>(e)) return false;
  const auto sweep = state_.sweeps.find(e.id.sweep);
  const BackendContext* context =
      sweep == state_.sweeps.end() ? nullptr : context_of(sweep->second.backend);
  return context != nullptr && context->setup.backend->on_this_machine();
}

void Controller::record(std::vector<db::Event> events) {
  if (events.empty()) return;
  try {
    const bool seen_again = std::all_of(events.begin(), events.end(),
                                        [&](const db::Event& e) { return is_seen_again(e); });
    const auto write = [&] {
      for (auto& e : events) {
        e.number = store_.append_event(e);
        write_rows(store_, live_rows_, state_, e);
        pass_point(e, &CommitPoints::inside);
        apply(state_, e);
      }
    };
    store_.transaction(write, seen_again ? db::Sync::later : db::Sync::now);
  } catch (const db::CannotWrite& error) {
    cannot_write(error);
    replay();  // memory may be ahead of the database
    throw;
  } catch (const std::exception& error) {
    // Memory may be ahead of the database now: only a restart puts that right.
    throw BrokenRecord(error.what());
  }
  for (const auto& e : events) {
    touch(e.id.sweep);
    if (is<event::Launching>(e)) ingest_.add(live_rows_.at(e.id));
    if (is<event::Removed>(e)) ingest_.forget(e.id.sweep);
    if (is<event::Ended>(e)) {
      ingest_.remove(e.id);
      for (auto& context : contexts_)
        context->observations.erase(e.id);
    }
    // A launching event holds the attempt's token: the log is no place for it.
    if (is<event::Launching>(e))
      log::info(fmt::format("{} launching in {}", e.id.to_string(), live_rows_.at(e.id).folder),
                {e.id, e.kind});
    else if (!is<event::Note>(e))
      log::info(fmt::format("{} {} {}", e.id.to_string(), e.kind, e.data.substr(0, 300)),
                {e.id, e.kind});
    pass_point(e, &CommitPoints::after);
    if (is<event::SweepEnded>(e)) {
      checkpoint();
      upkeep_timer_.cancel();
    }
  }
}

/// Nothing is lost by waiting: intents come before deeds, and what engines measure is in their
/// journals. Rounds rest, commands are refused, and the ingest loop tries again.
void Controller::cannot_write(const db::CannotWrite& error) {
  if (!unwritable_.empty()) return;
  unwritable_ = error.what();
  unwritable_since_ = options_.steady();
  log::error(
      "the record cannot be written; running attempts continue, and the controller does once it "
      "can be: " +
      unwritable_);
}

void Controller::write_again() {
  ingest_.commit();
  const double waited = options_.steady() - unwritable_since_;
  const std::string text =
      fmt::format("the record could not be written for {:.0f} s: {}", waited, unwritable_);
  db::Event note = new_event(options_.now(), {}, event::Note{"warning", text});
  store_.transaction([&] { note.number = store_.append_event(note); });
  apply(state_, note);
  unwritable_.clear();
  log::info("the record can be written again");
  wake();
}

void Controller::note_disk() {
  const bool hangs = disk_.hangs().has_value();
  if (hangs && !disk_hung_)
    log::error("the filesystem of the run folders does not answer (" + options_.runs.string() +
               "): nothing is started or ended until it does");
  if (!hangs && disk_hung_) log::info("the filesystem of the run folders answers again");
  disk_hung_ = hangs;
}

void Controller::checkpoint() {
  checkpointed_ = options_.steady();
  try {
    store_.checkpoint();
  } catch (const db::CannotWrite&) {
    // What was committed stands in the log; the next write finds out by itself.
  }
}

std::vector<std::string> Controller::troubles() const {
  std::vector<std::string> result;
  if (!unwritable_.empty())
    result.push_back("the record cannot be written, nothing new is started: " + unwritable_);
  if (const auto hangs = disk_.hangs())
    result.push_back(
        fmt::format("the filesystem of the run folders ({}) has not answered for {:.0f} s",
                    options_.runs.string(), *hangs));
  if (!no_space_.empty()) result.push_back("nothing new is started: " + no_space_);
  if (!lost_sweeps_.empty()) result.push_back(lost_sweeps_);
  return result;
}

std::map<std::int64_t, std::string> Controller::troubles_of_sweeps() const {
  std::map<std::int64_t, std::string> result;
  for (const auto& [sweep, postponed] : postponed_upkeep_)
    result[sweep] =
        fmt::format("{} yet, tried again in {:.0f} min: {}", cannot_be(sweep),
                    std::ceil((postponed.not_before - options_.steady()) / 60), postponed.why);
  return result;
}

Plan Controller::plan() {
  Facts facts;
  facts.now = options_.now();
  facts.has_room = [this](const std::string& backend, const jobspec::Resources& wanted,
                          const std::vector<jobspec::Resources>& running) {
    const auto* context = context_of(backend);
    return context && context->setup.backend->has_room(wanted, running);
  };
  Plan plan = actions(state_, facts, options_.policy);
  waiting_ = plan.waiting;
  next_pause_end_ = plan.next;
  return plan;
}

/// Does everything that needs no backend, until nothing of it is left. Returns the plan of what is
/// left then.
Plan Controller::settle() {
  using Kind = Action::Kind;
  note_clock();
  for (;;) {
    std::vector<db::Event> events;
    const auto add = [&](const Id& id, const auto& e) {
      events.push_back(new_event(options_.now(), id, e));
    };
    Plan now = plan();
    for (const Action& action : now.actions) {
      if (action.kind == Kind::drop)
        add(action.id, event::Ended{EndCause::cancelled, action.reason});
      else if (action.kind == Kind::end_trial)
        add(action.id, event::TrialEnded{action.trial, action.reason});
      else if (action.kind == Kind::stop_sweep)
        add(action.id, event::Stopped{action.reason, action.end_running});
      else if (action.kind == Kind::end_sweep)
        add(action.id, event::SweepEnded{action.sweep});
      else if (action.kind == Kind::look)
        add_look(action.id, events);
      else if (action.kind == Kind::promote)
        add(action.id, event::Promoted{static_cast<std::int64_t>(state_.trial(action.id)->rung) + 2,
                                       action.reason});
    }
    if (events.empty()) return now;
    record(std::move(events));
  }
}

/// Where a record that cannot be read keeps it from that, the sweep waits and the others go on.
void Controller::add_look(const Id& sweep, std::vector<db::Event>& events) {
  try {
    events.push_back(
        new_event(options_.now(), sweep, look_at_seeds(store_, state_.sweeps.at(sweep.sweep))));
  } catch (const std::exception&) {
    contain("look at the seeds of sweep " + sweep.to_string());
  }
}

std::uint64_t Controller::version(std::int64_t sweep) const {
  const auto it = versions_.find(sweep);
  return it == versions_.end() ? 0 : it->second;
}

std::vector<std::string> Controller::backends() const {
  std::vector<std::string> names;
  for (const auto& context : contexts_)
    names.push_back(context->name);
  return names;
}

Controller::BackendContext* Controller::context_of(const std::string& backend) const {
  for (const auto& context : contexts_)
    if (context->name == backend) return context.get();
  return nullptr;
}

std::optional<std::string> Controller::description(const std::string& backend) const {
  const auto* context = context_of(backend);
  return context ? context->description : std::nullopt;
}

std::string Controller::script(const std::string& backend, const LaunchRequest& request) const {
  const auto* context = context_of(backend);
  return context ? context->setup.backend->script(request) : "";
}

Awaitable<std::optional<Forecast>> Controller::forecast(const std::string& backend,
                                                        const LaunchRequest& request) {
  const auto* context = context_of(backend);
  if (!context) co_return std::nullopt;
  co_return co_await context->setup.backend->forecast(request);
}

Awaitable<std::string> Controller::describe(const std::string& backend) {
  for (auto& context : contexts_) {
    if (context->name != backend) continue;
    context->description = co_await context->setup.backend->describe();
    co_return *context->description;
  }
  co_return "";
}

Awaitable<void> Controller::description_loop(BackendContext& context) {
  while (!stopping_) {
    context.description = co_await context.setup.backend->describe();
    co_await pause(context.description_timer, description_s);
  }
}

}  // namespace thalweg::daemon
