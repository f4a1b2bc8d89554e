// Sweeps that are put away or removed. A removal is an event first (the intent), then the attempts'
// folders go, one after the other on a thread of their own, then the points of each attempt, then
// the rest of the rows together with the event that says so. What was interrupted is done again
// from the start: what is gone already is passed over.
#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <fmt/format.h>
#include <unistd.h>

#include "daemon/controller/controller.h"
#include "daemon/controller/fault.h"
#include "daemon/controller/log.h"
#include "daemon/controller/tree.h"
#include "daemon/state/events.h"

namespace thalweg::daemon {

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

void Controller::remove(std::int64_t sweep, const std::string& by) {
  record({new_event(options_.now(), {sweep, 0, 0}, event::Removing{by})});
  removal_timer_.cancel();
}

Awaitable<void> Controller::removal_loop() {
  while (!stopping_) {
    std::vector<std::int64_t> wanted;
    for (const auto& [id, sweep] : state_.sweeps)
      if (sweep.removing) wanted.push_back(id);
    bool failed = false;
    for (const std::int64_t id : wanted) {
      if (stopping_) co_return;
      try {
        co_await remove_now(id);
        unremovable_.erase(id);
        continue;
      } catch (const db::CannotWrite& error) {
        cannot_write(error);
        unremovable_[id] = error.what();
      } catch (const db::Error&) {
        throw;
      } catch (const BrokenRecord&) {
        throw;
      } catch (const std::exception& error) {
        if (unremovable_[id] != error.what())
          log::warning(fmt::format("{} cannot be removed yet: {}", id, error.what()));
        unremovable_[id] = error.what();
      }
      failed = true;
    }
    bool more = false;
    for (const auto& [id, sweep] : state_.sweeps)
      more = more || (sweep.removing && unremovable_.count(id) == 0);
    if (!more && !stopping_) co_await pause(removal_timer_, failed ? again_s : nothing_to_do_s);
  }
}

Awaitable<void> Controller::remove_now(std::int64_t sweep) {
  for (const db::AttemptRow& row : store_.attempts(sweep)) {
    const std::filesystem::path folder = row.folder;
    if (is_own(folder, row.id)) {
      const auto work = [this, folder] {
        const auto remove = [folder] {
          remove_tree(folder);
          // The trial's folder and the sweep's, once they are empty.
          rmdir(folder.parent_path().c_str());
          rmdir(folder.parent_path().parent_path().c_str());
        };
        removal_disk_.run(remove);
        return true;
      };
      co_await removal_worker_.run(work);
    }
    fault::pass("in_removal");
    store_.remove_points(row.id);
  }
  fault::pass("before_removed");
  record({new_event(options_.now(), {sweep, 0, 0}, event::Removed{})});
}

}  // namespace thalweg::daemon
