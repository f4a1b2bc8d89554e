// Sweeps that are put away, pruned or removed (removal.cpp), by one loop, in turns. Checkpoints
// that `keep` does not name go once the sweep has ended, which is the intent; the event says what
// was freed. So do points of curves where it asks for fewer.
// What was interrupted is done again from the start: what is gone already is passed over.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "daemon/controller/controller.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/init_from.h"
#include "daemon/controller/log.h"
#include "daemon/controller/tree.h"
#include "daemon/state/events.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

// What cannot be done is tried again after a minute, then after two, at last every hour.
constexpr double nothing_to_do_s = 3600, again_s = 60, max_pause_s = 3600;

/// Of the finished trials the best `count`, as `show` ranks them; of equal ones the first.
std::set<std::int64_t> best_trials(db::ReadStore& store, const SweepState& sweep,
                                   std::int64_t count) {
  std::set<std::int64_t> best;
  for (const std::int64_t trial : store.best_trials(sweep.id, sweep.metric.name,
                                                    sweep.metric.goal == jobspec::Goal::maximize)) {
    if (static_cast<std::int64_t>(best.size()) == count) break;
    if (trial < 1 || trial > static_cast<std::int64_t>(sweep.trials.size())) continue;
    if (sweep.trials[static_cast<std::size_t>(trial - 1)].phase == TrialPhase::finished)
      best.insert(trial);
  }
  return best;
}

/// What stays of each trial that has made attempts.
std::map<std::int64_t, KeepCheckpoints> kept_of(db::ReadStore& store, const SweepState& sweep) {
  std::set<std::int64_t> best;
  if (sweep.keep.trials > 0) best = best_trials(store, sweep, sweep.keep.trials);
  // Where nothing was measured, nothing says which trials are not needed.
  const bool ranked = sweep.keep.trials > 0 && !best.empty();
  std::map<std::int64_t, KeepCheckpoints> kept;
  for (std::size_t i = 0; i < sweep.trials.size(); ++i) {
    const auto trial = static_cast<std::int64_t>(i + 1);
    if (sweep.trials[i].attempts == 0) continue;
    if (sweep.trials[i].phase != TrialPhase::finished)
      kept[trial] = KeepCheckpoints::last;  // `retry` goes on from it
    else
      kept[trial] =
          ranked && best.count(trial) == 0 ? KeepCheckpoints::none : sweep.keep.checkpoints;
  }
  return kept;
}

}  // namespace

bool Controller::archive(std::int64_t sweep, bool on, const std::string& by) {
  const auto it = state_.sweeps.find(sweep);
  if (it == state_.sweeps.end() || it->second.removing) return false;
  record({new_event(options_.now(), {sweep, 0, 0}, event::Archived{on, by})});
  return true;
}

void Controller::note_pruning(const Id& id, const std::string& keep, const std::string& by) {
  record({new_event(options_.now(), id, event::Pruning{keep, by})});
}

void Controller::note_pruned(const Id& id, const event::Pruned& what) {
  if (state_.sweeps.contains(id.sweep)) record({new_event(options_.now(), id, what)});
}

std::int64_t Controller::relocate(const std::string& from, const std::string& to,
                                  const std::string& by) {
  constexpr double max_s = 60;
  for (const auto& [id, row] : live_rows_)
    if (row.folder.starts_with(from + "/"))
      throw std::invalid_argument(
          fmt::format("attempt {} has not ended and works in {}: wait for it, or cancel it",
                      id.to_string(), row.folder));
  const auto length = static_cast<std::int64_t>(from.size()) + 1;
  const auto found = store_.query("SELECT count(*) FROM attempts WHERE substr(folder, 1, ?) = ?", 1,
                                  max_s, {length, from + "/"});
  const std::int64_t attempts = found.rows.at(0).at(0).as_int();
  if (attempts > 0) record({new_event(options_.now(), {}, event::Relocated{from, to, by})});
  return attempts;
}

void Controller::remove(std::int64_t sweep, const std::string& by) {
  record({new_event(options_.now(), {sweep, 0, 0}, event::Removing{by})});
  postponed_upkeep_.erase(sweep);
  upkeep_timer_.cancel();
}

std::string Controller::cannot_be(std::int64_t sweep) const {
  const auto it = state_.sweeps.find(sweep);
  const bool removing = it == state_.sweeps.end() || it->second.removing;
  return removing ? fmt::format("sweep {} cannot be removed", sweep)
                  : fmt::format("the checkpoints of sweep {} cannot be pruned", sweep);
}

Awaitable<void> Controller::upkeep_loop() {
  const auto wanted = [this] {
    std::vector<std::int64_t> ids;
    for (const auto& [id, sweep] : state_.sweeps)
      if ((sweep.removing || sweep.to_prune) && !is_postponed(id)) ids.push_back(id);
    return ids;
  };
  while (!stopping_) {
    for (const std::int64_t id : wanted()) {
      if (stopping_) co_return;
      if (!is_postponed(id)) co_await try_upkeep(id);
    }
    if (wanted().empty() && !stopping_) co_await pause(upkeep_timer_, until_next_upkeep());
  }
}

/// It was tried in vain, or its owner keeps calls waiting.
bool Controller::is_postponed(std::int64_t sweep) const {
  const auto it = postponed_upkeep_.find(sweep);
  return is_passed_over(sweep) ||
         (it != postponed_upkeep_.end() && options_.steady() < it->second.not_before);
}

double Controller::until_next_upkeep() const {
  const double now = options_.steady();
  double next = now + nothing_to_do_s;
  for (const auto& [id, postponed] : postponed_upkeep_)
    if (state_.sweeps.contains(id)) next = std::min(next, std::max(postponed.not_before, now + 1));
  for (const auto& [user, until] : passed_over_)
    if (until > now) next = std::min(next, until);
  return next - now;
}

Awaitable<void> Controller::try_upkeep(std::int64_t id) {
  std::string why;
  try {
    const auto it = state_.sweeps.find(id);
    if (it != state_.sweeps.end() && it->second.removing) {
      if (!co_await remove_some(id)) co_return;
    } else if (it != state_.sweeps.end() && it->second.to_prune) {
      co_await prune_now(id);
    }
    postponed_upkeep_.erase(id);
    co_return;
  } catch (const db::CannotWrite& error) {
    cannot_write(error);
    why = error.what();
  } catch (const db::Error&) {
    throw;
  } catch (const BrokenRecord&) {
    throw;
  } catch (const std::exception& error) {
    why = error.what();
  }
  removals_.erase(id);
  Postponed& postponed = postponed_upkeep_[id];
  if (postponed.why != why)
    log::warning(fmt::format("{} yet: {}", cannot_be(id), why), {.id = {.sweep = id}});
  postponed.why = why;
  postponed.pause_s = std::clamp(2 * postponed.pause_s, again_s, max_pause_s);
  postponed.not_before = options_.steady() + postponed.pause_s;
}

Awaitable<void> Controller::prune_now(std::int64_t sweep) {
  const jobspec::Keep keep = state_.sweeps.at(sweep).keep;
  event::Pruned done{"", "", true, 0, {}};
  std::string problem;
  if (!keep.all_checkpoints()) problem = co_await prune_checkpoints_now(sweep, done);
  if (still_to_prune(sweep) && keep.points > 0)
    done.removed_points = co_await thin({sweep, 0, 0}, keep.points);
  // Run again, or to be removed: the rest is decided at its next end.
  if (!still_to_prune(sweep)) co_return;
  if (!problem.empty()) throw std::runtime_error(problem);
  done.keep = jobspec::describe(keep);
  record({new_event(options_.now(), {sweep, 0, 0}, done)});
}

bool Controller::still_to_prune(std::int64_t sweep) const {
  const auto it = state_.sweeps.find(sweep);
  return !stopping_ && it != state_.sweeps.end() && it->second.to_prune && !it->second.removing;
}

/// Why something is still there that should be gone; empty: nothing is.
Awaitable<std::string> Controller::prune_checkpoints_now(std::int64_t sweep, event::Pruned& done) {
  std::string problem;
  const auto kept = kept_of(store_, state_.sweeps.at(sweep));
  const std::vector<WeightsNeed> needs = weights_needed(store_);
  std::map<std::int64_t, std::vector<std::filesystem::path>> folders;  // newest first
  for (const db::AttemptRow& row : store_.attempts(sweep))
    folders[row.id.trial].insert(folders[row.id.trial].begin(), row.folder);
  for (const auto& [trial, of_trial] : folders) {
    const Id id{sweep, trial, 0};
    const auto keep = kept.find(trial);
    if (keep == kept.end()) continue;
    if (need_of(needs, id, of_trial, keep->second) != nullptr) {
      done.spared.push_back(id.to_string());
      continue;
    }
    const auto work = [this, of_trial = of_trial, keep = keep->second] {
      return upkeep_disk_.run([of_trial, keep] { return prune_checkpoints(of_trial, keep, 1); });
    };
    const Pruning pruning = co_await upkeep_worker_.run(work);
    done.freed_bytes += pruning.freed_bytes;
    if (problem.empty()) problem = pruning.problem;
    fault::pass("in_pruning");
    if (!still_to_prune(sweep)) break;
  }
  co_return problem;
}

Awaitable<std::int64_t> Controller::thin(Id id, std::int64_t points) {
  const auto of = state_.sweeps.find(id.sweep);
  if (of == state_.sweeps.end()) co_return 0;
  const std::string metric = of->second.metric.name;
  std::int64_t removed = 0;
  for (const db::AttemptRow& row : store_.attempts(id.sweep)) {
    if (id.trial != 0 && row.id.trial != id.trial) continue;
    const TrialState* const trial = state_.trial(row.id);
    if (stopping_ || trial == nullptr || !is_over(trial->phase)) continue;  // it may run again
    removed += store_.thin_points(row.id, points, metric);
    fault::pass("in_thinning");
    Timer turn(executor_);
    co_await pause(turn, 0);
  }
  co_return removed;
}

}  // namespace thalweg::daemon
