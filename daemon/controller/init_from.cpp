#include "daemon/controller/init_from.h"

#include <fmt/format.h>

#include <set>

#include "db/store.h"
#include "jobspec/diagnostic.h"
#include "jobspec/sweep.h"

namespace thalweg::daemon {
namespace {

constexpr const char* kKey = "init_from.trial";

/// Empty where it can be begun with.
std::string mistake_in(db::ReadStore& store, const std::string& text) {
  const auto id = jobspec::Id::parse(text);
  if (!id || id->sweep < 1 || id->trial < 1)
    return text + " is no id of a trial (\"12.3\") or attempt (\"12.3.1\")";
  const auto trial = store.trial({id->sweep, id->trial, 0});
  if (!trial) return fmt::format("there is no trial {}.{}", id->sweep, id->trial);
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
                     const jobspec::Expansion& expansion) {
  std::set<std::string> seen;
  std::vector<jobspec::Diagnostic> mistakes;
  for (const jobspec::ExpandedTrial& trial : expansion.trials) {
    const jobspec::Value* const text = trial.train.find(kKey);
    if (text == nullptr || !text->is_string() || !seen.insert(text->as_string()).second) continue;
    if (const std::string mistake = mistake_in(store, text->as_string()); !mistake.empty())
      mistakes.push_back({sweep.file, text->place, std::string("train.") + kKey, mistake,
                          "thalweg ls shows the trials that there are"});
  }
  if (!mistakes.empty()) throw jobspec::InputError(std::move(mistakes));
}

}  // namespace thalweg::daemon
