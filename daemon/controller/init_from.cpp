#include "daemon/controller/init_from.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "daemon/state/state.h"
#include "db/store.h"
#include "jobspec/diagnostic.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {
namespace {

constexpr const char* kKey = "init_from.trial";

/// Empty where it can be begun with.
std::string mistake_in(db::ReadStore& store, const std::string& text,
                       const std::optional<std::vector<std::int64_t>>& visible) {
  const auto id = jobspec::Id::parse(text);
  if (!id || id->sweep < 1 || id->trial < 1)
    return text + " is no id of a trial (\"12.3\") or attempt (\"12.3.1\")";
  const bool hidden = visible && !std::binary_search(visible->begin(), visible->end(), id->sweep);
  const auto trial = store.trial({id->sweep, id->trial, 0});
  if (!trial || hidden) return fmt::format("there is no trial {}.{}", id->sweep, id->trial);
  if (const auto sweep = store.sweep(id->sweep); sweep && sweep->backend == kImported)
    return fmt::format("trial {}.{} is a run of another program, so it has no checkpoint",
                       id->sweep, id->trial);
  if (trial->attempts == 0)
    return fmt::format("trial {}.{} has not started yet, so it has no checkpoint", id->sweep,
                       id->trial);
  if (id->attempt > trial->attempts)
    return fmt::format("trial {}.{} has {} attempt{}, not {}", id->sweep, id->trial,
                       trial->attempts, trial->attempts == 1 ? "" : "s", id->attempt);
  return "";
}

}  // namespace

std::optional<jobspec::Id> init_from_trial(const jobspec::Value& train) {
  const jobspec::Value* const text = train.find(kKey);
  if (text == nullptr || !text->is_string()) return {};
  return jobspec::Id::parse(text->as_string());
}

void require_sources(db::ReadStore& store, const jobspec::Sweep& sweep,
                     const jobspec::Expansion& expansion,
                     const std::optional<std::vector<std::int64_t>>& visible) {
  std::set<std::string> seen;
  std::vector<jobspec::Diagnostic> mistakes;
  for (const jobspec::ExpandedTrial& trial : expansion.trials) {
    const jobspec::Value* const text = trial.train.find(kKey);
    if (text == nullptr || !text->is_string() || !seen.insert(text->as_string()).second) continue;
    if (const std::string mistake = mistake_in(store, text->as_string(), visible); !mistake.empty())
      mistakes.push_back({sweep.file, text->place, std::string("train.") + kKey, mistake,
                          "thalweg ls lists the existing trials"});
  }
  if (!mistakes.empty()) throw jobspec::InputError(std::move(mistakes));
}

std::vector<WeightsNeed> weights_needed(db::ReadStore& store) {
  std::vector<WeightsNeed> needs;
  for (const db::ReadStore::Beginning& row : store.beginnings()) {
    WeightsNeed need{row.trial, jobspec::Id::parse(row.from_trial), row.from_file, row.best};
    if (need.trial || !need.file.empty()) needs.push_back(std::move(need));
  }
  return needs;
}

const WeightsNeed* need_of(const std::vector<WeightsNeed>& needs, const jobspec::Id& trial,
                           const std::vector<std::filesystem::path>& folders,
                           jobspec::KeepCheckpoints keep) {
  using jobspec::KeepCheckpoints;
  const auto inside = [&](const std::filesystem::path& file) {
    return std::any_of(folders.begin(), folders.end(), [&](const std::filesystem::path& folder) {
      const auto ends = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
      return ends.first == folder.end();
    });
  };
  for (const WeightsNeed& need : needs) {
    if (need.by.sweep == trial.sweep && need.by.trial == trial.trial) continue;
    // Which one a file's name means is known once it is opened.
    if (!need.file.empty() && keep != KeepCheckpoints::all && inside(need.file)) return &need;
    if (!need.trial || need.trial->sweep != trial.sweep || need.trial->trial != trial.trial)
      continue;
    // Of an attempt that is not the newest nothing need stay.
    const bool stays = keep == KeepCheckpoints::all ||
                       (need.trial->attempt == 0 && (keep == KeepCheckpoints::last ||
                                                     (keep == KeepCheckpoints::best && need.best)));
    if (!stays) return &need;
  }
  return nullptr;
}

}  // namespace thalweg::daemon
