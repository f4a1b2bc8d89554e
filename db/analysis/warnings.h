// What a reader of a sweep's numbers has to know beside them, in sentences: trials that finished
// without the metric, numbers that were given and are not in the record, a program that was edited
// while its sweep ran.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

struct Warnings {
  std::vector<std::string> sentences;
  std::map<std::int64_t, std::string> of_trials;  ///< a few words each, by trial number
  std::size_t without_metric = 0;                 ///< finished trials that lack it
};

/// `metric`: by which trials are looked at; empty = none in particular.
Warnings warnings_of(ReadStore& store, std::int64_t sweep, const std::string& metric);

}  // namespace thalweg::db::analysis
