#include "jobspec/reader.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace thalweg::jobspec {

void Complaints::add(Place place, std::string key, std::string message, std::string hint) {
  entries_.push_back({{file_, place, std::move(key), std::move(message), std::move(hint)}});
}

void Complaints::add_missing(Place place, std::string key, std::string message, std::string hint) {
  add(place, std::move(key), "missing, expected " + std::move(message), std::move(hint));
  entries_.back().missing = true;
}

void Complaints::add_unknown(Place place, std::string key, std::string message,
                             const std::string& meant, std::string hint) {
  add(place, std::move(key), std::move(message), std::move(hint));
  entries_.back().meant = meant;
}

void Complaints::throw_if_any() const {
  std::vector<Diagnostic> diagnostics;
  for (const Entry& entry : entries_) {
    const bool misspelt =
        entry.missing && std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
          return other.meant == entry.diagnostic.key;
        });
    if (!misspelt) diagnostics.push_back(entry.diagnostic);
  }
  if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string name = nearest(word, candidates);
  return name.empty() ? name : "did you mean '" + name + "'?";
}

std::string any_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

Fields::Fields(const Value& value, std::string path, Complaints& complaints)
    : place_(value.place), path_(std::move(path)), complaints_(complaints) {
  if (value.is_map()) {
    map_ = &value.as_map();
  } else {
    complaints_.add(place_, path_, "found " + describe(value) + ", expected a map of keys");
  }
}

std::string Fields::path_of(std::string_view key) const {
  if (key.empty()) return path_;
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const Value* Fields::take(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  if (!map_) return nullptr;
  for (const auto& [name, value] : *map_) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Value* Fields::take_quietly(std::string_view key) {
  quiet_.emplace_back(key);
  if (!map_) return nullptr;
  for (const auto& [name, value] : *map_) {
    if (name == key) return &value;
  }
  return nullptr;
}

void Fields::wrong(const Value& value, std::string_view key, std::string_view expected,
                   std::string hint) {
  complaints_.add(value.place, path_of(key),
                  "found " + describe(value) + ", expected " + std::string(expected),
                  std::move(hint));
}

void Fields::missing(std::string_view key, std::string_view expected, std::string hint) {
  complaints_.add_missing(place_, path_of(key), std::string(expected), std::move(hint));
}

bool Fields::require(std::string_view key, std::string_view expected) {
  if (take(key)) return true;
  if (map_) missing(key, expected);
  return false;
}

bool Fields::boolean(std::string_view key, bool& out) {
  const Value* value = take(key);
  if (!value) return false;
  if (!value->is_bool()) {
    wrong(*value, key, "true or false");
    return false;
  }
  out = value->as_bool();
  return true;
}

bool Fields::integer(std::string_view key, std::int64_t& out, IntRange range) {
  const Value* value = take(key);
  if (!value) return false;
  std::string expected = "a whole number";
  if (range.max != std::numeric_limits<std::int64_t>::max()) {
    expected += " from " + std::to_string(range.min) + " to " + std::to_string(range.max);
  } else if (range.min != std::numeric_limits<std::int64_t>::min()) {
    expected += " of at least " + std::to_string(range.min);
  }
  std::int64_t number = 0;
  try {
    number = value->as_int();
  } catch (const std::invalid_argument&) {
    wrong(*value, key, expected);
    return false;
  }
  if (number < range.min || number > range.max) {
    wrong(*value, key, expected);
    return false;
  }
  out = number;
  return true;
}

bool Fields::integer(std::string_view key, int& out, IntRange range) {
  range.max = std::min<std::int64_t>(range.max, std::numeric_limits<int>::max());
  std::int64_t number = out;
  if (!integer(key, number, range)) return false;
  out = static_cast<int>(number);
  return true;
}

bool Fields::real(std::string_view key, double& out) {
  const Value* value = take(key);
  if (!value) return false;
  if (!value->is_number() || !std::isfinite(value->as_double())) {
    wrong(*value, key, "a finite number");
    return false;
  }
  out = value->as_double();
  return true;
}

bool Fields::text(std::string_view key, std::string& out) {
  const Value* value = take(key);
  if (!value) return false;
  if (!value->is_string()) {
    wrong(*value, key, "text", value->is_number() ? "put it in quotes" : "");
    return false;
  }
  out = value->as_string();
  return true;
}

bool Fields::texts(std::string_view key, std::vector<std::string>& out) {
  const Value* value = take(key);
  if (!value) return false;
  if (value->is_string()) {
    out = {value->as_string()};
    return true;
  }
  const bool good =
      value->is_list() && std::all_of(value->as_list().begin(), value->as_list().end(),
                                      [](const Value& item) { return item.is_string(); });
  if (!good) {
    wrong(*value, key, "a list of texts");
    return false;
  }
  out.clear();
  for (const Value& item : value->as_list())
    out.push_back(item.as_string());
  return true;
}

void Fields::finish() {
  if (!map_) return;
  for (const auto& [name, value] : *map_) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    if (std::find(quiet_.begin(), quiet_.end(), name) != quiet_.end()) continue;
    const std::size_t colon = name.find(':');
    const std::string before = name.substr(0, colon);
    const bool glued = colon != std::string::npos && value.is_null() &&
                       std::find(known_.begin(), known_.end(), before) != known_.end();
    const std::string meant = glued ? before : nearest(name, known_);
    complaints_.add_unknown(value.place, path_of(name), "unknown key, expected " + any_of(known_),
                            meant.empty() ? "" : path_of(meant),
                            glued ? "put a space after ':'" : did_you_mean(name, known_));
  }
}

}  // namespace thalweg::jobspec
