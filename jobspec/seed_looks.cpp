// Looks cost: each shares the level of the whole with the others. So there are few, and none before
// the test could say anything at that level.
#include "jobspec/seed_looks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "jobspec/advise/formulas.h"
#include "jobspec/parse.h"
#include "jobspec/search/search.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

constexpr std::int64_t kUsualStart = 6, kUsualAdd = 5, kUsualLooks = 3;

std::vector<std::int64_t> looks_from(std::int64_t start, const SeedLooks& asked) {
  const std::int64_t add = asked.add > 0 ? asked.add : kUsualAdd;
  const std::int64_t cap =
      std::max(start + 1, asked.cap > 0 ? asked.cap : start + (kUsualLooks - 1) * add);
  std::vector<std::int64_t> looks;
  for (std::int64_t seeds = start; seeds < cap; seeds += add)
    looks.push_back(seeds);
  looks.push_back(cap);
  return looks;
}

/// Seeds of two configurations with which some outcome is significant at a look.
std::int64_t needed(const SeedPlan& plan) {
  return advise::seeds_for_verdict(plan.rows, static_cast<std::int64_t>(plan.looks.size()));
}

std::string list_of(const std::vector<std::int64_t>& numbers) {
  const std::vector<std::int64_t> first(numbers.begin(), numbers.end() - 1);
  if (first.empty()) return std::to_string(numbers.back());
  return fmt::format("{} and {}", fmt::join(first, ", "), numbers.back());
}

}  // namespace

std::int64_t first_look(const SeedLooks& asked) {
  return asked.start > 0 ? asked.start : kUsualStart;
}

double SeedPlan::tests() const {
  const auto of = static_cast<double>(rows);
  return static_cast<double>(looks.size()) * of * (of - 1) / 2;
}

SeedPlan seed_plan(const SeedLooks& asked, std::int64_t rows) {
  SeedPlan plan{looks_from(first_look(asked), asked), rows};
  if (asked.start > 0) return plan;
  const std::int64_t last = asked.cap > 0 ? asked.cap - 1 : kMaxSeeds;
  for (std::int64_t start = kUsualStart; start < last && needed(plan) > start;)
    plan.looks = looks_from(++start, asked);
  return plan;
}

bool is_seed_looks(const Value& seeds) {
  return seeds.is_map() || (seeds.is_string() && seeds.as_string() == "auto");
}

bool has_seed_looks(const Value& file) {
  const Value* const seeds = file.find("seeds");
  return seeds != nullptr && is_seed_looks(*seeds);
}

SeedLooks parse_seed_looks(const Value& value, Parsing& parsing) {
  SeedLooks looks;
  if (value.is_string()) return looks;
  Fields fields(value, "seeds", parsing.diagnostics);
  fields.integer("start", looks.start, {2, kMaxSeeds});
  fields.integer("add", looks.add, {1, kMaxSeeds});
  fields.integer("cap", looks.cap, {3, kMaxSeeds});
  fields.finish();
  const std::int64_t start = first_look(looks);
  if (looks.cap > 0 && looks.cap <= start)
    parsing.diagnostics.add(
        value.find("cap")->place, "seeds.cap",
        fmt::format("found {}, expected more than the {} seeds of the first look", looks.cap,
                    start),
        "seeds: N runs N of each without looks");
  return looks;
}

void check_seed_looks(Fields& top, Parsing& parsing) {
  const Sweep& sweep = parsing.sweep;
  if (!sweep.seed_looks) return;
  if (sweep.method->has_key())
    parsing.diagnostics.add(
        top.take("seeds")->place, "seeds",
        fmt::format("found looks, expected a number or a list with {}: which configurations there "
                    "are depends on results",
                    in_words(*sweep.method)),
        "give the best of them looks in a sweep of its own");
  if (const Value* rule = top.take("early_terminate"))
    parsing.diagnostics.add(rule->place, "early_terminate",
                            "found a rule that ends trials early, expected none with looks at "
                            "seeds: what is compared must have trained to its end",
                            "leave one of the two out");
}

std::string describe(const SeedPlan& plan) {
  std::string text = fmt::format(
      "{} after {} seeds of each of {} configurations; what is worse than the best at p <= {:.2g} "
      "(0.05 over {} and {}) gets no more seeds; {} to {}",
      plan.looks.size() == 1 ? "one look" : "looks", list_of(plan.looks), plan.rows, plan.level(),
      count_of(static_cast<std::int64_t>(plan.looks.size()), "look"),
      count_of(plan.rows * (plan.rows - 1) / 2, "pair"), plan.min_trials(),
      count_of(plan.max_trials(), "trial"));
  const std::int64_t least = needed(plan);
  if (least > plan.looks.back())
    text += fmt::format("; no look can tell two of them apart, which takes {} seeds", least);
  else if (least > plan.looks.front())
    text += fmt::format("; looks before {} seeds cannot tell two of them apart", least);
  return text;
}

}  // namespace thalweg::jobspec
