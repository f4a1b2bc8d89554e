#include <fmt/format.h>

#include "jobspec/reader.h"
#include "jobspec/search/search.h"

namespace thalweg::jobspec {

// One row per method: each is defined in the .cpp of its name.
// clang-format off
#define THALWEG_SEARCH_METHODS(ROW) \
  ROW(grid) ROW(random) ROW(bayes) ROW(sobol) ROW(halton) ROW(tpe) ROW(genetic) ROW(richtmyer) \
  ROW(asha) ROW(successive_halving) ROW(pbt) ROW(study)
// clang-format on

namespace search {
#define THALWEG_DECLARE(name) SearchMethod name();
THALWEG_SEARCH_METHODS(THALWEG_DECLARE)
#undef THALWEG_DECLARE
}  // namespace search

const Table<SearchMethod>& search_methods() {
#define THALWEG_CALL(name) search::name(),
  static const Table<SearchMethod> table("search method", {THALWEG_SEARCH_METHODS(THALWEG_CALL)});
#undef THALWEG_CALL
  return table;
}

const SearchMethod* default_method() {
  return &search_methods().front();
}

std::string names_of_methods(bool learning) {
  std::vector<std::string> names;
  for (const SearchMethod& method : search_methods())
    if (!method.lists() && !method.tunes && method.learns() == learning)
      names.emplace_back(method.name);
  return any_of(names);
}

std::string in_words(const SearchMethod& method) {
  return fmt::format("method: {}", method.name);
}

double History::shown(double value) const {
  return sweep.metric.goal == Goal::maximize ? -value : value;
}

double History::number(std::string_view option) const {
  for (const auto& [name, value] : sweep.learning->options)
    if (name == option) return value.as_double();
  throw std::logic_error("no such option: " + std::string(option));
}

}  // namespace thalweg::jobspec
