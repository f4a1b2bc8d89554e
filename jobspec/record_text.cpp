#include "jobspec/record_text.h"

#include <cmath>
#include <limits>

namespace thalweg::jobspec {
namespace {

/// Every value that is neither map nor list, changed by `change`.
template <class Change>
Value with_leaves(const Value& value, const Change& change) {
  if (value.is_map()) {
    Map map;
    for (const auto& [key, inner] : value.as_map())
      map.emplace_back(key, with_leaves(inner, change));
    return map;
  }
  if (value.is_list()) {
    List list;
    for (const Value& inner : value.as_list())
      list.push_back(with_leaves(inner, change));
    return list;
  }
  return change(value);
}

}  // namespace

std::string record_text(const Value& value) {
  const auto change = [](const Value& leaf) -> Value {
    if (!leaf.is_number() || leaf.is_int() || std::isfinite(leaf.as_double())) return leaf;
    return std::isnan(leaf.as_double()) ? ".nan" : leaf.as_double() < 0 ? "-.inf" : ".inf";
  };
  return with_leaves(value, change).to_json();
}

Value read_record(const std::string& text, const std::string& name) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const auto change = [](const Value& leaf) -> Value {
    if (!leaf.is_string()) return leaf;
    const std::string& word = leaf.as_string();
    if (word == ".inf") return infinity;
    if (word == "-.inf") return -infinity;
    if (word == ".nan") return std::numeric_limits<double>::quiet_NaN();
    return leaf;
  };
  return with_leaves(read_yaml(text, name), change);
}

}  // namespace thalweg::jobspec
