// Options are few and read when something is made: a vector is looked through, nothing is hashed.
#include "jobspec/options.h"

#include <stdexcept>
#include <utility>

#include "jobspec/schema.h"

namespace thalweg::jobspec {

Options::Options(const Value& tree, const std::vector<Option>& options, std::string where)
    : where_(std::move(where)) {
  for (const Option& option : options) {
    const Value* given = tree.is_map() ? tree.find(option.name) : nullptr;
    const bool said = given != nullptr && !given->is_null();
    entries_.push_back({option.name, option.doc, said ? *given : option.default_value});
  }
}

const Options::Entry& Options::find(std::string_view name) const {
  for (const Entry& entry : entries_)
    if (entry.name == name) return entry;
  throw std::logic_error(where_ + std::string(name) + " is not in its table row");
}

const Value& Options::value(std::string_view name) const {
  const Entry& entry = find(name);
  if (entry.value.is_null())
    throw std::invalid_argument(where_ + entry.name + " is missing: " + entry.doc);
  return entry.value;
}

bool Options::is_auto(std::string_view name) const {
  const Value& found = find(name).value;
  return found.is_string() && found.as_string() == "auto";
}

std::vector<double> Options::reals(std::string_view name) const {
  std::vector<double> numbers;
  for (const Value& entry : list(name)) {
    if (!entry.is_number())
      throw std::invalid_argument(where_ + std::string(name) + ": found " + describe(entry) +
                                  " in the list, expected numbers only");
    numbers.push_back(entry.as_double());
  }
  return numbers;
}

}  // namespace thalweg::jobspec
