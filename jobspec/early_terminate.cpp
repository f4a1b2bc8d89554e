// What the rules have in common: each says in its file which keys it takes.
#include "jobspec/early_terminate.h"

#include "jobspec/early/rule.h"
#include "jobspec/parse.h"
#include "jobspec/sweep.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

/// The first row where the type is missing or wrong.
const EarlyRule& parse_type(Fields& fields) {
  const Value* const type = fields.take("type");
  const std::vector<std::string> names = early_rules().names();
  const std::string found = type && type->is_string() ? type->as_string() : "";
  if (const EarlyRule* rule = early_rules().find(found)) return *rule;
  if (type == nullptr)
    fields.missing("type", any_of(names));
  else
    fields.wrong(*type, "type", any_of(names),
                 found == "envelope" ? "envelope is of old W&B versions and no longer supported by "
                                       "W&B: write {type: hyperband, min_iter: 3}"
                                     : did_you_mean(found, names));
  return early_rules().front();
}

}  // namespace

std::optional<EarlyTerminate> parse_early_terminate(const Value* value, Parsing& parsing) {
  if (value == nullptr) return {};
  Fields fields(*value, "early_terminate", parsing.diagnostics);
  if (!fields.is_map()) return {};
  EarlyTerminate result;
  const EarlyRule& rule = parse_type(fields);
  if (&rule != &early_rules().front()) result.type = rule.name;
  rule.read(fields, *value, parsing, result);
  fields.finish();
  return result;
}

std::optional<std::uint64_t> start_order(const Sweep& sweep) {
  if (!sweep.early_terminate || sweep.learning) return {};
  return sweep.seed;
}

std::string describe(const EarlyTerminate& rule, const std::string& metric) {
  return rule_of(rule).describe(rule, metric.empty() ? "the metric" : metric);
}

}  // namespace thalweg::jobspec
