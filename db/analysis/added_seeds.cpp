// The record has the trials that a sweep began with, and what each extension made of `seeds`.
#include "db/analysis/added_seeds.h"

#include <algorithm>
#include <map>
#include <string>

#include "jobspec/value.h"

namespace thalweg::db::analysis {
namespace {

/// "seeds=5" or "seeds=[1, 2, 7]".
std::int64_t seeds_of(const std::string& change) {
  const jobspec::Value value = jobspec::read_yaml(change.substr(change.find('=') + 1), "seeds");
  if (value.is_int()) return value.as_int();
  return value.is_list() ? static_cast<std::int64_t>(value.as_list().size()) : 0;
}

/// The most of any configuration among the first trials.
std::int64_t seeds_at_first(const std::vector<TrialRecord>& records, std::int64_t trials) {
  std::map<std::int64_t, std::int64_t> seeds;
  std::int64_t most = 0;
  for (const TrialRecord& record : records)
    if (record.id.trial <= trials) most = std::max(most, ++seeds[record.configuration]);
  return most;
}

}  // namespace

std::int64_t added_after_enough(ReadStore& store, std::int64_t sweep,
                                const std::vector<TrialRecord>& records, std::int64_t enough) {
  constexpr const char* kBegan =
      "SELECT sum(json_extract(value, '$.count')) FROM events, json_each(events.data, '$.shapes')"
      " WHERE sweep = ? AND trial = 0 AND kind = 'submitted'";
  constexpr const char* kChanges =
      "SELECT value FROM events, json_each(events.data, '$.changes')"
      " WHERE sweep = ? AND trial = 0 AND kind = 'trials_added' AND value LIKE 'seeds=%'"
      " ORDER BY number";
  constexpr std::int64_t max_rows = 10'000;
  const std::vector<jobspec::Value> of_sweep{jobspec::Value(sweep)};
  const auto changes = store.query(kChanges, max_rows, kQuerySeconds, of_sweep).rows;
  if (changes.empty()) return 0;
  const auto began = store.query(kBegan, max_rows, kQuerySeconds, of_sweep).rows;
  std::int64_t before = seeds_at_first(records, began[0][0].is_int() ? began[0][0].as_int() : 0);
  std::int64_t times = 0;
  for (const auto& row : changes) {
    const std::int64_t after = seeds_of(row[0].as_string());
    if (before >= enough && after > before) ++times;
    before = std::max(before, after);
  }
  return times;
}

}  // namespace thalweg::db::analysis
