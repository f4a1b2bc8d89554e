// --describe of trials: what each would be as a run, from its options and its data's headers.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace thalweg::engine {

struct DescribeOptions {
  bool json = false;       ///< a line of JSON for each trial
  bool elsewhere = false;  ///< CheckOptions::elsewhere
};
struct DescribeStreams {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

/// Writes about each trial file in turn; of "-" about each line of `in`, a trial as JSON (what a
/// trial file holds), as "standard input:3". Data sets and models that trials share are opened
/// once. False where a trial has mistakes; those of --json stand in its line.
bool describe_trials(const std::vector<std::string>& files, const DescribeOptions& options,
                     const DescribeStreams& streams);

}  // namespace thalweg::engine
