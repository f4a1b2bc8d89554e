#include "jobspec/reader.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "jobspec/synonyms.h"

namespace thalweg::jobspec {
namespace {

/// A longer list is cut to the first few.
constexpr std::size_t max_names = 12, first_names = 8;

/// "train.data.name" is below "train.data".
bool is_at_or_below(const std::string& path, const std::string& above) {
  if (above.empty() || path.compare(0, above.size(), above) != 0) return false;
  return path.size() == above.size() || path[above.size()] == '.';
}

bool digits_only(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace

void Diagnostics::add(Place place, std::string key, std::string message, std::string hint) {
  entries_.push_back({{file_, place, std::move(key), std::move(message), std::move(hint)}});
}

void Diagnostics::add_missing(Place place, std::string key, std::string message, std::string hint) {
  add(place, std::move(key), "missing, expected " + std::move(message), std::move(hint));
  entries_.back().missing = true;
}

void Diagnostics::add_unknown(Place place, std::string key, std::string message,
                              const std::string& meant, std::string hint) {
  add(place, std::move(key), std::move(message), std::move(hint));
  entries_.back().meant = meant;
}

void Diagnostics::throw_if_any() const {
  std::vector<Diagnostic> diagnostics;
  for (const Entry& entry : entries_) {
    const bool misspelt =
        entry.missing && std::any_of(entries_.begin(), entries_.end(), [&](const Entry& other) {
          return is_at_or_below(entry.diagnostic.key, other.meant);
        });
    if (!misspelt) diagnostics.push_back(entry.diagnostic);
  }
  if (!diagnostics.empty()) throw InputError(std::move(diagnostics));
}

std::string likely(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string plain = squashed(word);
  const auto same = std::find_if(candidates.begin(), candidates.end(),
                                 [&](const std::string& c) { return squashed(c) == plain; });
  return same != candidates.end() ? *same : nearest(word, candidates);
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string name = likely(word, candidates);
  return name.empty() ? name : "did you mean '" + name + "'?";
}

std::string word_hint(std::string_view path, std::string_view word,
                      const std::vector<std::string>& candidates) {
  const std::string near = likely(word, candidates);
  const bool spelling = squashed(near) == squashed(word);
  if (const auto meaning = meaning_of_value(path, word);
      meaning && (!spelling || !meaning->remedy.empty())) {
    const bool there =
        std::find(candidates.begin(), candidates.end(), meaning->means) != candidates.end();
    if (!meaning->remedy.empty() && (there || meaning->means.empty())) return meaning->remedy;
    if (there) return "did you mean '" + meaning->means + "'?";
  }
  return near.empty() ? "" : "did you mean '" + near + "'?";
}

std::string any_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string some_of(const std::vector<std::string>& names) {
  if (names.size() <= max_names) return any_of(names);
  std::vector<std::string> first(names.begin(), names.begin() + first_names);
  first.push_back("one of " + std::to_string(names.size() - first_names) + " more");
  return any_of(first);
}

void tell_known(std::string& message, std::string& hint, const std::vector<std::string>& known) {
  if (known.empty()) return;
  if (hint.empty()) {
    message += ", expected " + some_of(known);
  } else if (hint.compare(0, 12, "did you mean") == 0) {
    hint += " known here: " + some_of(known);
  }
}

UnknownKey unknown_key(const std::string& place, const std::string& key, const Value& value,
                       const std::vector<std::string>& known, const PathTest& fits,
                       const MeaningTest& barred) {
  UnknownKey said;
  const auto path_of = [&](const std::string& name) {
    return place.empty() ? name : place + "." + name;
  };
  const auto is_known = [&](const std::string& path) {
    return std::any_of(known.begin(), known.end(),
                       [&](const std::string& name) { return path_of(name) == path; });
  };
  const std::string before = key.substr(0, key.find(':'));
  std::vector<Meaning> meanings = meanings_of_key(place, key);
  if (barred) std::erase_if(meanings, barred);
  // Of this very map only what it may hold here: a normal distribution has no min.
  std::erase_if(meanings, [&](const Meaning& meaning) {
    const std::size_t dot = meaning.means.rfind('.');
    const std::string parent = dot == meaning.means.npos ? "" : meaning.means.substr(0, dot);
    return !known.empty() && parent == place && meaning.remedy.empty() && !meaning.means.empty() &&
           !is_known(meaning.means);
  });
  std::stable_partition(meanings.begin(), meanings.end(), [&](const Meaning& meaning) {
    return fits ? fits(meaning.means) : is_known(meaning.means);
  });
  if (before.size() < key.size() && value.is_null() && is_known(path_of(before))) {
    said.hint = "put a space after ':'";
    said.meant = path_of(before);
  } else if (digits_only(key) && value.is_null()) {
    said.hint = "a comma ends a value: write numbers with a point, as 0." + key;
  } else if (const auto same = std::find_if(
                 known.begin(), known.end(),
                 [&](const std::string& name) { return squashed(name) == squashed(key); });
             same != known.end()) {  // time-limit: no other section's option is nearer
    said.meant = path_of(*same);
    said.hint = "did you mean '" + *same + "'?";
  } else if (!meanings.empty()) {
    const Meaning& meaning = meanings.front();
    said.meant = meaning.means;
    said.hint = meaning.remedy.empty() ? how_to_write(meaning.means, place, value) : meaning.remedy;
  } else if (const std::string name = likely(key, known); !name.empty()) {
    said.meant = path_of(name);
    said.hint = "did you mean '" + name + "'?";
  }
  return said;
}

Fields::Fields(const Value& value, std::string path, Diagnostics& diagnostics)
    : place_(value.place), path_(std::move(path)), diagnostics_(diagnostics) {
  if (value.is_map()) {
    map_ = &value.as_map();
  } else {
    const std::string main = main_key(path_);
    const bool one = value.is_string() || value.is_number();
    diagnostics_.add(
        place_, path_, "found " + describe(value) + ", expected a map of keys",
        main.empty() || !one ? "" : "write " + path_ + ": {" + main + ": " + value.to_text() + "}");
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
  diagnostics_.add(value.place, path_of(key),
                   "found " + describe(value) + ", expected " + std::string(expected),
                   std::move(hint));
}

void Fields::missing(std::string_view key, std::string_view expected, std::string hint) {
  diagnostics_.add_missing(place_, path_of(key), std::string(expected), std::move(hint));
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
    UnknownKey said = unknown_key(path_, name, value, known_, {}, diagnostics_.barred());
    tell_known(said.message, said.hint, known_);
    diagnostics_.add_unknown(value.place, path_of(name), std::move(said.message), said.meant,
                             std::move(said.hint));
  }
}

}  // namespace thalweg::jobspec
