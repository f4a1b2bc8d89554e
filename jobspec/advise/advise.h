// Advice about a sweep before a node-hour is spent: a table of rules, each with its source. A new
// rule costs a function, a row and a test.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "jobspec/advise/study.h"

namespace thalweg::jobspec::advise {

enum class Verdict {
  warning,  ///< the sweep as it stands will mislead or waste
  advice,   ///< there is something better, or something to know
  fits,     ///< as the rule has it
  unknown   ///< the rule lacks a number; `text` says which
};

/// How sure a piece of advice is.
enum class Basis {
  arithmetic,    ///< of what the sweep says
  measured,      ///< in earlier runs of this model on these data
  published,     ///< experiments that others published
  rule_of_thumb  ///< practice; exceptions are known
};

struct Finding {
  Verdict verdict = Verdict::fits;
  std::string text;
  Basis basis = Basis::rule_of_thumb;
  /// What it was found from, as printed: {"batch", "8192"}.
  std::vector<std::pair<std::string, std::string>> numbers{};
  std::vector<std::int64_t> trials{};  ///< that it is about; empty: the whole sweep
};

struct Rule {
  const char* name;      ///< "global_batch"
  const char* question;  ///< that it answers
  const char* source;
  /// Pure. Nothing: the rule has nothing to say of such a sweep.
  std::vector<Finding> (*apply)(const Study& study);
};

struct Advice {
  const Rule* rule = nullptr;
  Finding finding{};
};

/// In the order in which a person would decide.
const std::vector<Rule>& rules();

/// Of all rules, in the order of the table; equal findings of several configurations are one.
std::vector<Advice> advise(const Study& study);

std::string to_text(Verdict verdict);
std::string to_text(Basis basis);

}  // namespace thalweg::jobspec::advise
