// Sweeps that are put away, pruned or removed. A removal is an event first (the intent), then the
// attempts' folders go, one after the other on a thread of their own, then the points of each
// attempt, then the rest of the rows together with the event that says so. Checkpoints that `keep`
// does not name go once the sweep has ended, which is the intent; the event says what was freed.
// So do points of curves where it asks for fewer.
// What was interrupted is done again from the start: what is gone already is passed over.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <fmt/format.h>
#include <unistd.h>

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

constexpr double nothing_to_do_s = 3600, again_s = 60;

/// The folder is the one that this attempt was given (folder.h): runs/12/3/1, perhaps with a part
/// of its token. Another is never removed.
bool is_own(const std::filesystem::path& folder, const Id& id) {
  const std::filesystem::path trial = folder.parent_path(), sweep = trial.parent_path();
  const std::string number = std::to_string(id.attempt), name = folder.filename().string();
  return folder.is_absolute() && (name == number || name.starts_with(number + "-")) &&
         trial.filename() == std::to_string(id.trial) &&
         sweep.filename() == std::to_string(id.sweep);
}

/// The sweep's folder with those of trials and attempts, as far as they are empty: also what a
/// controller made for an attempt that it did not live to note.
void remove_empty(const fs::path& sweep) {
  const auto each = [](const fs::path& folder, const auto& work) {
    std::error_code unreadable;
    for (fs::directory_iterator in(folder, unreadable), end; !unreadable && in != end;
         in.increment(unreadable))
      if (!in->is_symlink()) work(in->path());
    rmdir(folder.c_str());
  };
  each(sweep, [&](const fs::path& trial) {
    each(trial, [](const fs::path& attempt) { rmdir(attempt.c_str()); });
  });
}

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
      if (sweep.removing || sweep.to_prune) ids.push_back(id);
    return ids;
  };
  while (!stopping_) {
    bool failed = false;
    for (const std::int64_t id : wanted()) {
      if (stopping_) co_return;
      try {
        co_await upkeep_of(id);
        postponed_upkeep_.erase(id);
        continue;
      } catch (const db::CannotWrite& error) {
        cannot_write(error);
        postponed_upkeep_[id] = error.what();
      } catch (const db::Error&) {
        throw;
      } catch (const BrokenRecord&) {
        throw;
      } catch (const std::exception& error) {
        if (postponed_upkeep_[id] != error.what())
          log::warning(fmt::format("{} yet: {}", cannot_be(id), error.what()));
        postponed_upkeep_[id] = error.what();
      }
      failed = true;
    }
    bool more = false;
    for (const std::int64_t id : wanted())
      more = more || postponed_upkeep_.count(id) == 0;
    if (!more && !stopping_) co_await pause(upkeep_timer_, failed ? again_s : nothing_to_do_s);
  }
}

Awaitable<void> Controller::upkeep_of(std::int64_t sweep) {
  const auto it = state_.sweeps.find(sweep);
  if (it == state_.sweeps.end()) co_return;
  if (it->second.removing)
    co_await remove_now(sweep);
  else if (it->second.to_prune)
    co_await prune_now(sweep);
}

Awaitable<void> Controller::remove_now(std::int64_t sweep) {
  std::set<fs::path> folders{options_.runs / std::to_string(sweep)};  // elsewhere: relocated
  for (const db::AttemptRow& row : store_.attempts(sweep)) {
    const std::filesystem::path folder = row.folder;
    if (is_own(folder, row.id)) {
      folders.insert(folder.parent_path().parent_path());
      const auto work = [this, folder] {
        const auto remove = [folder] {
          remove_tree(folder);
          // The trial's folder and the sweep's, once they are empty.
          rmdir(folder.parent_path().c_str());
          rmdir(folder.parent_path().parent_path().c_str());
        };
        upkeep_disk_.run(remove);
        return true;
      };
      co_await upkeep_worker_.run(work);
    }
    fault::pass("in_removal");
    store_.remove_points(row.id);
  }
  const auto rest = [this, folders = std::move(folders)] {
    upkeep_disk_.run([folders] {
      for (const fs::path& folder : folders)
        remove_empty(folder);
    });
    return true;
  };
  co_await upkeep_worker_.run(rest);
  co_await revoke_grant(sweep);
  fault::pass("before_removed");
  record({new_event(options_.now(), {sweep, 0, 0}, event::Removed{})});
}

Awaitable<void> Controller::prune_now(std::int64_t sweep) {
  const jobspec::Keep keep = state_.sweeps.at(sweep).keep;
  event::Pruned done{"", "", true, 0, {}};
  if (!keep.all_checkpoints()) co_await prune_checkpoints_now(sweep, done);
  if (still_to_prune(sweep) && keep.points > 0)
    done.removed_points = co_await thin({sweep, 0, 0}, keep.points);
  // Run again, or to be removed: the rest is decided at its next end.
  if (!still_to_prune(sweep)) co_return;
  done.keep = jobspec::describe(keep);
  record({new_event(options_.now(), {sweep, 0, 0}, done)});
}

bool Controller::still_to_prune(std::int64_t sweep) const {
  const auto it = state_.sweeps.find(sweep);
  return !stopping_ && it != state_.sweeps.end() && it->second.to_prune && !it->second.removing;
}

Awaitable<void> Controller::prune_checkpoints_now(std::int64_t sweep, event::Pruned& done) {
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
    done.freed_bytes += co_await upkeep_worker_.run(work);
    fault::pass("in_pruning");
    if (!still_to_prune(sweep)) co_return;
  }
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
