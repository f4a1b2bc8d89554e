// The rows: one line for each study.
#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "base/text.h"
#include "db/studies/study.h"
#include "jobspec/id.h"

namespace thalweg::db {

extern const Study batch_study, history_study, importance_study, pareto_study, predict_study,
    profile_study, rcp_study, regret_study, scaling_study, slices_study, timeline_study,
    tuneability_study;

std::span<const Study* const> studies() {
  static constexpr std::array table{&batch_study,      &scaling_study,  &pareto_study,
                                    &importance_study, &slices_study,   &history_study,
                                    &regret_study,     &profile_study,  &tuneability_study,
                                    &rcp_study,        &timeline_study, &predict_study};
  return table;
}

const Study* find_study(std::string_view name) {
  for (const Study* study : studies())
    if (name == study->name) return study;
  return nullptr;
}

namespace {

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end ? std::optional(number) : std::nullopt;
}

}  // namespace

void StudyRequest::set(const StudyOption& option, const std::string& value) {
  const auto wrong = [&](const char* expected) {
    return std::invalid_argument(std::string(option.name) + "=" + value + ": expected " + expected);
  };
  const auto keep = [&](Given given) { values_[std::string(option.name)] = std::move(given); };
  switch (option.kind) {
    case StudyOption::Kind::flag:
      if (value != "1") throw wrong("1");
      keep(true);
      return;
    case StudyOption::Kind::number: {
      const auto number = number_in(value);
      if (!number) throw wrong("a number");
      keep(*number);
      return;
    }
    case StudyOption::Kind::names: {
      std::vector<std::string> names;
      for (std::string& name : split_at_commas(value))
        if (!name.empty()) names.push_back(std::move(name));
      keep(std::move(names));
      return;
    }
    case StudyOption::Kind::numbers: {
      std::vector<double> numbers;
      for (const std::string& each : split_at_commas(value)) {
        const auto number = number_in(each);
        if (!number) throw wrong("numbers, separated by commas");
        numbers.push_back(*number);
      }
      keep(std::move(numbers));
      return;
    }
    case StudyOption::Kind::text:
    case StudyOption::Kind::metric: {
      const auto choices = split_at_commas(option.choices);
      if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end())
        throw wrong(("one of " + std::string(option.choices)).c_str());
      keep(value);
      return;
    }
    case StudyOption::Kind::pairs: {
      Pairs pairs;
      for (const std::string& pair : split_at_commas(value)) {
        const auto colon = pair.find(':');
        const auto first = jobspec::Id::parse(pair.substr(0, colon)),
                   second = colon == pair.npos ? std::nullopt
                                               : jobspec::Id::parse(pair.substr(colon + 1));
        if (!first || !second || first->trial != 0 || second->trial != 0)
          throw wrong("two sweeps, as 14:12");
        pairs.emplace_back(first->sweep, second->sweep);
      }
      keep(std::move(pairs));
      return;
    }
  }
}

std::optional<double> StudyRequest::number(std::string_view option) const {
  const double* number = given<double>(option);
  return number ? std::optional(*number) : std::nullopt;
}

std::vector<double> StudyRequest::numbers(std::string_view option) const {
  const auto* numbers = given<std::vector<double>>(option);
  return numbers ? *numbers : std::vector<double>();
}

std::vector<std::string> StudyRequest::names(std::string_view option) const {
  const auto* names = given<std::vector<std::string>>(option);
  return names ? *names : std::vector<std::string>();
}

std::string StudyRequest::text(std::string_view option) const {
  const auto* text = given<std::string>(option);
  return text ? *text : std::string();
}

StudyRequest::Pairs StudyRequest::pairs(std::string_view option) const {
  const auto* pairs = given<Pairs>(option);
  return pairs ? *pairs : Pairs();
}

}  // namespace thalweg::db
