// The rows: one line for each study.
#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>

#include "db/studies/study.h"

namespace thalweg::db {

extern const Study regret_study;

std::span<const Study* const> studies() {
  static constexpr std::array table{&regret_study};
  return table;
}

const Study* find_study(std::string_view name) {
  for (const Study* study : studies())
    if (name == study->name) return study;
  return nullptr;
}

void StudyRequest::set(const StudyOption& option, const std::string& value) {
  if (option.kind == StudyOption::Kind::number) {
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size())
      throw std::invalid_argument(std::string(option.name) + "=" + value + ": expected a number");
  }
  if (option.kind == StudyOption::Kind::flag && value != "1")
    throw std::invalid_argument(std::string(option.name) + "=" + value + ": expected 1");
  values_[std::string(option.name)] = value;
}

std::optional<double> StudyRequest::number(std::string_view option) const {
  const auto found = values_.find(std::string(option));
  if (found == values_.end()) return std::nullopt;
  return std::stod(found->second);
}

std::vector<std::string> StudyRequest::names(std::string_view option) const {
  std::vector<std::string> names;
  const auto found = values_.find(std::string(option));
  if (found == values_.end()) return names;
  const std::string& text = found->second;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) names.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

}  // namespace thalweg::db
