// Notes about a sweep that is right as it stands and yet hardly meant: values that stand twice, a
// rate of 0, exponents that look like plain ends. They stop nobody; who reads them saves a night of
// computing.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "jobspec/check.h"
#include "jobspec/combine.h"
#include "jobspec/parse.h"
#include "jobspec/search/search.h"
#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

constexpr const char* rate = "optimizer.lr";
constexpr const char* rate_zero = "a learning rate of 0 changes nothing, the weights stay as drawn";

bool is_zero(const Value& value) {
  return value.is_number() && value.as_double() == 0;
}

bool zipped(const Sweep& sweep, const std::string& axis) {
  return std::any_of(sweep.zip.begin(), sweep.zip.end(), [&](const auto& group) {
    return std::find(group.begin(), group.end(), axis) != group.end();
  });
}

/// Values that stand more than once would give equal trials, which run once.
void advise_repeats(const Axis& axis, const std::vector<Value>& values, Parsing& parsing) {
  std::set<std::string> seen, told;
  std::string twice;
  for (const Value& value : values) {
    const std::string text = value.canonical();
    if (seen.insert(text).second || !told.insert(text).second) continue;
    twice += (twice.empty() ? "" : ", ") + flow_text(value);
  }
  if (twice.empty()) return;
  parsing.note(
      values.front().place.line > 0 ? values.front().place : axis.place, "parameters." + axis.name,
      fmt::format("of {} values {} are different, each counts once; more than once: {}",
                  values.size(), seen.size(), twice),
      Target(parsing.schema, axis.name).real() ? "numbers take a decimal point, 0.001" : "");
}

void advise_axis(const Axis& axis, Parsing& parsing) {
  if (const std::string caution = axis.distribution->caution(); !caution.empty())
    parsing.note(axis.place, "parameters." + axis.name, caution);
  const auto* values = axis.distribution->listed();
  if (!values) return;
  if (!zipped(parsing.sweep, axis.name)) advise_repeats(axis, *values, parsing);
  const auto zero = std::find_if(values->begin(), values->end(), is_zero);
  if (axis.name == rate && zero != values->end())
    parsing.note(zero->place.line > 0 ? zero->place : axis.place, "parameters." + axis.name,
                 rate_zero);
}

/// How many combinations of a grid the constraints leave.
void advise_constraints(Parsing& parsing) {
  constexpr double most = 1e6;  // counting more takes too long
  Sweep all = parsing.sweep;
  all.constraints.clear();
  if (!all.method->lists() || parsing.sweep.constraints.empty()) return;
  const double count = count_kept(all, most);
  if (count > most) return;
  parsing.note(parsing.sweep.constraints.front().place, "constraint",
               fmt::format("keeps {} of {} combinations", count_kept(parsing.sweep, most), count));
}

}  // namespace

void add_advice(Parsing& parsing) {
  if (parsing.diagnostics.empty()) advise_constraints(parsing);
  for (const Axis& axis : parsing.sweep.axes)
    advise_axis(axis, parsing);
  const Value* lr = parsing.sweep.train.find(rate);
  if (lr && is_zero(*lr) && !find_axis(parsing.sweep, rate))
    parsing.note(lr->place, std::string("train.") + rate, rate_zero);
}

bool decimal_commas(const std::vector<Value>& values) {
  if (values.size() < 2 || values.size() % 2 != 0) return false;
  // "0,001, 0,01": no blank inside a number, one between two.
  const auto gap = [&](std::size_t i) {
    const auto length = static_cast<int>(values[i].to_text().size());
    return values[i + 1].place.column - values[i].place.column - length;
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool one_line = values[i].place.line == values.front().place.line;
    if (!one_line || !values[i].is_int()) return false;
  }
  bool blanks = values.size() > 2;
  for (std::size_t i = 0; i + 1 < values.size(); ++i) {
    if (i % 2 == 0 && gap(i) != 1) return false;
    if (i % 2 == 1) blanks = blanks && gap(i) > 1;
  }
  return blanks;
}

}  // namespace thalweg::jobspec
