// The parameters of a sweep's trials, read in one pass over their texts: SQL takes each text apart
// once for each name, which is slow where tens of thousands of trials have a hundred parameters.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/store.h"
#include "jobspec/value.h"

namespace thalweg::db::analysis {

/// The members of a JSON object, as they stand in its text: keys without their quotes, values as
/// JSON. What is no object has none; behind a mistake nothing more is found.
void each_member(std::string_view object,
                 const std::function<void(std::string_view key, std::string_view value)>& each);

/// A number, text, truth value or null of JSON; of a list or an object its text.
jobspec::Value member_value(std::string_view json);

using TrialValues = std::map<std::int64_t, jobspec::Value>;  ///< by trial number

/// Of each name the values of the trials whose parameters hold it.
std::vector<TrialValues> parameter_values(ReadStore& store, std::int64_t sweep,
                                          const std::vector<std::string>& names);

/// Tells the value null from a parameter that trials do not have.
class Presence {
 public:
  explicit Presence(ReadStore& store) : store_(store) {}
  /// Whether any of these trials has the parameter, be it null.
  bool any_has(const std::vector<Id>& trials, const std::string& name);

 private:
  ReadStore& store_;
  std::map<std::pair<std::int64_t, std::string>, TrialValues> known_;  ///< by sweep and name
};

/// The sweep's parameters that take more than one value, or that only some trials have, in the
/// order of the file.
std::vector<std::string> varied_parameters(ReadStore& store, std::int64_t sweep);

}  // namespace thalweg::db::analysis
