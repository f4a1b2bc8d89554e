#include "db/analysis/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "jobspec/metrics.h"

namespace thalweg::db::analysis {
namespace {

/// Why numbers are lost (engine/attempt/journal.md), in words; `briefly` for the line of a trial.
struct Reason {
  const char *key, *noun, *words, *briefly;
};
constexpr Reason kReasons[] = {
    {"reports", "report", ", which could not be read", "not read"},
    {"values", "value", " without a number", "without a number"},
    {"names", "value", " of metrics without a proper name or beyond the first 1000",
     "without a proper metric"},
    {"points", "point", " that came too fast", "thinned out"},
};
constexpr Reason kOther{"", "number", "", "lost"};

const Reason& reason_of(const std::string& key) {
  for (const Reason& reason : kReasons)
    if (key == reason.key) return reason;
  return kOther;
}

/// "1 trial", "2,836 points".
std::string plural(std::int64_t count, const char* noun) {
  return grouped(count) + " " + noun + (count == 1 ? "" : "s");
}

void add_words(Warnings& warnings, std::int64_t trial, const std::string& words) {
  std::string& text = warnings.of_trials[trial];
  text += (text.empty() ? "" : "; ") + words;
}

/// In quotes, since a blank at an end is one of the mistakes.
std::string names_text(const std::set<std::string>& names) {
  constexpr std::size_t max_named = 6;
  std::string text;
  std::size_t named = 0;
  for (const std::string& name : names) {
    if (named++ == max_named) return text + fmt::format(" and {} more", names.size() - max_named);
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", name);
  }
  return text;
}

void add_without_metric(ReadStore& store, std::int64_t sweep, const std::string& metric,
                        Warnings& warnings) {
  const auto trials = store.without_metric(sweep, metric);
  warnings.without_metric = trials.size();
  if (trials.empty()) return;
  std::set<std::string> names;
  for (const auto& trial : trials) {
    names.insert(trial.reported.begin(), trial.reported.end());
    add_words(warnings, trial.trial, fmt::format("never reported {}", metric));
  }
  const std::string near = jobspec::nearest_metric(metric, {names.begin(), names.end()});
  const std::string instead =
      names.empty() ? "they reported nothing"
                    : fmt::format("reported were {}{}", names_text(names),
                                  near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near));
  warnings.sentences.push_back(fmt::format("{} finished without any value of '{}': {}",
                                           plural(std::ssize(trials), "trial"), metric, instead));
}

void add_lost_numbers(ReadStore& store, std::int64_t sweep, Warnings& warnings) {
  struct Sum {
    std::map<std::int64_t, std::int64_t> trials;
    std::int64_t count = 0;
    Id first;
    std::string text;
  };
  std::map<std::string, Sum> sums;
  for (const auto& lost : store.lost_numbers(sweep)) {
    Sum& sum = sums[lost.reason];
    if (sum.trials.empty()) {
      sum.first = lost.attempt;
      sum.text = lost.text;
    }
    sum.trials[lost.attempt.trial] += lost.count;
    sum.count += lost.count;
  }
  for (const auto& [key, sum] : sums) {
    const Reason& reason = reason_of(key);
    warnings.sentences.push_back(fmt::format("{} lost {}{}; {}: {}",
                                             plural(std::ssize(sum.trials), "trial"),
                                             plural(sum.count, reason.noun), reason.words,
                                             Id{sweep, sum.first.trial, 0}.to_string(), sum.text));
    for (const auto& [trial, count] : sum.trials)
      add_words(warnings, trial, plural(count, reason.noun) + " " + reason.briefly);
  }
}

/// "12.1 to 12.3, 12.5".
std::string trials_text(std::int64_t sweep, const std::set<std::int64_t>& trials) {
  constexpr std::size_t max_ranges = 4;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (const std::int64_t trial : trials) {
    if (!ranges.empty() && ranges.back().second + 1 == trial)
      ranges.back().second = trial;
    else
      ranges.emplace_back(trial, trial);
  }
  if (ranges.size() > max_ranges) return plural(std::ssize(trials), "trial");
  std::string text;
  for (const auto& [first, last] : ranges)
    text += fmt::format("{}{}.{}{}", text.empty() ? "" : ", ", sweep, first,
                        first == last ? "" : fmt::format(" to {}.{}", sweep, last));
  return text;
}

/// What trials ran of one file, by their first launch.
struct Version {
  std::string hash, sources;
  std::set<std::int64_t> trials;
};

void add_versions(std::int64_t sweep, const std::string& file, const std::vector<Version>& versions,
                  Warnings& warnings) {
  const bool itself = std::any_of(versions.begin(), versions.end(), [&](const Version& version) {
    return version.hash != versions.front().hash;
  });
  const std::string name = file.substr(file.rfind('/') + 1);
  const std::string what = itself ? name : "a source file of " + name;
  std::string text;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    text += fmt::format("{}{} ran {}", i == 0 ? "" : ", ", trials_text(sweep, versions[i].trials),
                        i == 0 ? "one version" : "another");
    for (const std::int64_t trial : versions[i].trials)
      if (i > 0)
        add_words(warnings, trial, itself ? "ran an edited " + name : "ran edited sources");
  }
  warnings.sentences.push_back(
      fmt::format("{} was edited while the sweep ran: {}; what sets these trials apart may be the "
                  "program, not the parameters",
                  what, text));
}

void add_edited_programs(ReadStore& store, std::int64_t sweep, Warnings& warnings) {
  std::map<std::string, std::vector<Version>> files;
  for (const auto& run : store.program_runs(sweep)) {
    auto& versions = files[run.file];
    auto it = std::find_if(versions.begin(), versions.end(), [&](const Version& version) {
      return version.hash == run.hash && version.sources == run.sources;
    });
    if (it == versions.end()) it = versions.insert(it, {run.hash, run.sources, {}});
    it->trials.insert(run.attempt.trial);
  }
  for (const auto& [file, versions] : files)
    if (versions.size() > 1) add_versions(sweep, file, versions, warnings);
}

}  // namespace

Warnings warnings_of(ReadStore& store, std::int64_t sweep, const std::string& metric) {
  Warnings warnings;
  if (!metric.empty()) add_without_metric(store, sweep, metric, warnings);
  add_lost_numbers(store, sweep, warnings);
  add_edited_programs(store, sweep, warnings);
  return warnings;
}

}  // namespace thalweg::db::analysis
