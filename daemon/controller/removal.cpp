// Removal of sweeps: an event first (the intent), then the attempts' folders go, then the points of
// each attempt, then the rest of the rows together with the event that says so. On a site a folder
// is its user's, and he may have closed it to everybody else: the agent empties it as him, and the
// controller removes what is left. A removal has turns of a few seconds, between which others have
// theirs; who keeps a call waiting (by stopping the process that works as him) is passed over.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

#include "base/tree.h"
#include "daemon/controller/backend_context.h"
#include "daemon/controller/controller.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/folder.h"
#include "daemon/controller/log.h"
#include "daemon/state/events.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

namespace {

constexpr double turn_s = 5, slow_call_s = 5, passed_over_s = 60, look_again_s = 1;
constexpr double never = -std::numeric_limits<double>::infinity();
constexpr std::chrono::seconds piece{2};  // of work on the disk, which others wait for
constexpr std::size_t folders_a_call = 500;

/// The folder is the one that this attempt was given. Another is never removed.
bool is_own(const fs::path& folder, const Id& id) {
  return folder.is_absolute() && attempt_of_folder(folder) == id;
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

fs::path runs_of(const fs::path& attempt) {
  return attempt.parent_path().parent_path().parent_path();
}

/// Of some attempts: those whose folders are there, in one folder of runs.
struct ThereNow {
  std::vector<std::size_t> which;
  std::vector<fs::path> folders;
  std::size_t end = 0;  ///< so many were looked at
};

ThereNow look_for(const std::vector<RemovalWork::Attempt>& attempts) {
  ThereNow there;
  for (; there.end < attempts.size(); ++there.end) {
    const fs::path& folder = attempts[there.end].folder;
    std::error_code gone;
    if (folder.empty() || !fs::is_directory(fs::symlink_status(folder, gone))) continue;
    if (!there.folders.empty() && runs_of(there.folders.front()) != runs_of(folder)) break;
    there.which.push_back(there.end);
    there.folders.push_back(folder);
  }
  return there;
}

}  // namespace

RemovalWork& Controller::removal_of(std::int64_t sweep) {
  const auto [it, begins] = removals_.try_emplace(sweep);
  RemovalWork& work = it->second;
  if (!begins) return work;
  work.begun = options_.steady();
  work.folders.insert(options_.runs / std::to_string(sweep));  // elsewhere: relocated
  for (const db::AttemptRow& row : store_.attempts(sweep)) {
    const bool own = is_own(row.folder, row.id);
    work.attempts.push_back({row.id, own ? fs::path(row.folder) : fs::path()});
    const double ago = std::max(0.0, options_.now() - row.ended);
    work.last_end = std::max(work.last_end, work.begun - ago);
    if (own) work.folders.insert(fs::path(row.folder).parent_path().parent_path());
  }
  return work;
}

/// A turn; false: there is more to do.
Awaitable<bool> Controller::remove_some(std::int64_t sweep) {
  RemovalWork& work = removal_of(sweep);
  const double until = options_.steady() + turn_s;
  while (work.next < work.attempts.size()) {
    if (stopping_) co_return false;
    if (work.next >= work.emptied) co_await empty_as_owner(sweep, work);
    if (work.next >= work.emptied) co_return false;
    if (!co_await remove_next(work)) co_return false;
    if (options_.steady() >= until) co_return false;
  }
  if (!work.problem.empty()) throw std::runtime_error(work.problem);
  if (!jobs_are_gone(sweep, work)) {
    postponed_upkeep_[sweep].not_before = options_.steady() + look_again_s;
    co_return false;
  }
  const auto rest = [this, folders = work.folders] {
    upkeep_disk_.run([folders] {
      for (const fs::path& folder : folders) {
        remove_tree(folder / "pack", RemovalClock::now() + piece);  // small files of ours
        remove_empty(folder);
      }
    });
    return true;
  };
  co_await upkeep_worker_.run(rest);
  co_await revoke_grant(sweep);
  fault::pass("before_removed");
  record({new_event(options_.now(), {sweep, 0, 0}, event::Removed{})});
  removals_.erase(sweep);
  co_return true;
}

/// With its row the sweep's tokens go: a job that its backend has not ended yet, or brings back,
/// would be nobody's.
bool Controller::jobs_are_gone(std::int64_t sweep, RemovalWork& work) {
  BackendContext* const context = context_of(state_.sweeps.at(sweep).backend);
  if (!context) return true;
  const auto found = context->left_over.find(sweep);
  const double seen = found == context->left_over.end() ? never : found->second;
  const double quiet_since =
      std::max(work.begun, std::max(seen, work.last_end) + context->setup.backend->forgets_s());
  if (context->looked > quiet_since) {
    context->left_over.erase(sweep);
    return true;
  }
  if (context->looked <= work.begun && !std::exchange(work.asked, true)) context->wake();
  return false;
}

/// One attempt's folder and points; false: of its folder there is more.
Awaitable<bool> Controller::remove_next(RemovalWork& work) {
  const RemovalWork::Attempt attempt = work.attempts[work.next];
  Removal removal;
  if (!attempt.folder.empty()) {
    const auto all = [this, folder = attempt.folder] {
      return upkeep_disk_.run([folder] {
        const Removal done = remove_tree(folder, RemovalClock::now() + piece);
        // The trial's folder and the sweep's, once they are empty.
        rmdir(folder.parent_path().c_str());
        rmdir(folder.parent_path().parent_path().c_str());
        return done;
      });
    };
    removal = co_await upkeep_worker_.run(all);
  }
  if (removal.more) co_return false;
  fault::pass("in_removal");
  if (removal.failed == 0)
    store_.remove_points(attempt.id);
  else if (work.problem.empty())
    work.problem = work.owners_problem.empty() ? removal.problem : work.owners_problem;
  ++work.next;
  co_return true;
}

Awaitable<Emptying> Controller::empty(std::int64_t sweep, Identity identity,
                                      std::vector<fs::path> folders) {
  const std::string backend = state_.sweeps.at(sweep).backend;
  if (const auto* context = context_of(backend))
    co_return co_await context->setup.backend->empty(identity, folders);
  Emptying none;
  none.message = "there is no backend '" + backend + "'";
  co_return none;
}

/// Has the next folders emptied as their owner, as far as he can. What he cannot, and all where the
/// agent does not do it, is left to the controller.
Awaitable<void> Controller::empty_as_owner(std::int64_t sweep, RemovalWork& work) {
  const auto identity = identity_of(sweep);
  work.emptied = identity ? work.next : work.attempts.size();
  if (!identity) co_return;
  const auto begin = work.attempts.begin() + static_cast<std::ptrdiff_t>(work.next);
  const std::size_t count = std::min(work.attempts.size() - work.next, folders_a_call);
  const std::vector<RemovalWork::Attempt> next(begin, begin + static_cast<std::ptrdiff_t>(count));
  const auto look = [this, next] { return upkeep_disk_.run([next] { return look_for(next); }); };
  const ThereNow there = co_await upkeep_worker_.run(look);
  work.emptied = work.next + there.end;
  work.owners_problem.clear();
  if (there.folders.empty()) co_return;
  const double began = options_.steady();
  const Emptying emptying = co_await empty(sweep, *identity, there.folders);
  if (!emptying.message.empty())
    log::warning(fmt::format("the folders of sweep {} are not removed as their owner: {}", sweep,
                             emptying.message),
                 {.id = {.sweep = sweep}});
  else if (emptying.done < there.folders.size())
    work.emptied = work.next + there.which[emptying.done];
  if (emptying.message.empty() && emptying.done == 0)
    postponed_upkeep_[sweep].not_before = options_.steady() + look_again_s;
  if (!emptying.problems.empty()) work.owners_problem = emptying.problems.begin()->second;
  if (options_.steady() - began > slow_call_s)
    passed_over_[identity->uid] = options_.steady() + passed_over_s;
}

bool Controller::is_passed_over(std::int64_t sweep) const {
  const auto identity = identity_of(sweep);
  const auto it = identity ? passed_over_.find(identity->uid) : passed_over_.end();
  return it != passed_over_.end() && options_.steady() < it->second;
}

}  // namespace thalweg::daemon
