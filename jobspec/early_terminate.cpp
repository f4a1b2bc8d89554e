#include "jobspec/early_terminate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "jobspec/parse.h"
#include "jobspec/sweep.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t max_iterations = 1'000'000'000;

void parse_type(Fields& fields) {
  const Value* const type = fields.take("type");
  if (type == nullptr)
    fields.missing("type", "hyperband");
  else if (!type->is_string() || type->as_string() != "hyperband")
    fields.wrong(*type, "type", "hyperband",
                 type->is_string() && type->as_string() == "envelope"
                     ? "envelope is of old W&B versions, which have none of it any more: write "
                       "{type: hyperband, min_iter: 3}"
                     : "");
}

}  // namespace

std::vector<std::int64_t> EarlyTerminate::bands(std::int64_t most) const {
  std::vector<std::int64_t> found;
  if (min_iter > 0) {
    constexpr int at_most = 100;
    double band = static_cast<double>(min_iter);
    for (int i = 0; i < at_most && band <= static_cast<double>(most); ++i, band *= eta)
      found.push_back(static_cast<std::int64_t>(band));
  } else {
    double band = static_cast<double>(max_iter);
    for (int i = 0; i < static_cast<int>(s); ++i) {
      band /= eta;
      if (band < 1) break;
      if (band <= static_cast<double>(most)) found.push_back(static_cast<std::int64_t>(band));
    }
    std::reverse(found.begin(), found.end());
  }
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

std::optional<EarlyTerminate> parse_early_terminate(const Value* value, Parsing& parsing) {
  if (value == nullptr) return {};
  Fields fields(*value, "early_terminate", parsing.diagnostics);
  if (!fields.is_map()) return {};
  EarlyTerminate rule;
  parse_type(fields);
  const bool first = fields.integer("min_iter", rule.min_iter, {1, max_iterations});
  const bool last = fields.integer("max_iter", rule.max_iter, {1, max_iterations});
  const Value* const count = fields.take("s");
  const auto expected = [&](const char* key, const Value& found, const char* what) {
    fields.wrong(found, key, what);
  };
  if (count != nullptr && !(fields.real("s", rule.s) && rule.s >= 1 && rule.s <= 100))
    expected("s", *count, "a number from 1 to 100: how many bands");
  const Value* const eta = fields.take("eta");
  if (eta != nullptr && !(fields.real("eta", rule.eta) && rule.eta > 1 && rule.eta <= 1000))
    expected("eta", *eta, "a number above 1: the best 1/eta go on");
  fields.boolean("strict", rule.strict);
  if (first && last)
    parsing.note(value->place, "early_terminate",
                 count != nullptr
                     ? "max_iter and s say where bands are, so min_iter does not count"
                     : "min_iter says where bands are; max_iter does not count without s",
                 "leave out the one that does not count");
  if (!fields.take("min_iter") && !fields.take("max_iter"))
    fields.missing("min_iter", "from how many values of the metric on trials are compared",
                   "or max_iter and s");
  else if (last && count == nullptr && !first)
    fields.missing("s", "how many bands there are below max_iter");
  fields.finish();
  if (last && count != nullptr) rule.min_iter = 0;
  if (rule.min_iter == 0 && last && count != nullptr && rule.bands(max_iterations).empty())
    expected("max_iter", *value->find("max_iter"), "at least eta");
  return rule;
}

std::optional<std::uint64_t> start_order(const Sweep& sweep) {
  if (!sweep.early_terminate || sweep.learning) return {};
  return sweep.seed;
}

std::string describe(const EarlyTerminate& rule, const std::string& metric) {
  constexpr std::size_t shown = 4;
  const auto bands = rule.bands(max_iterations);
  std::string text;
  for (std::size_t i = 0; i < std::min(bands.size(), shown); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(bands[i]);
  if (bands.size() > shown) text += ", ...";
  return fmt::format("after {} values of {} about the best 1/{:g} of the trials go on", text,
                     metric.empty() ? "the metric" : metric, rule.eta);
}

}  // namespace thalweg::jobspec
