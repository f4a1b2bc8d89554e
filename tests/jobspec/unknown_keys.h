// Random unknown keys in every place of a sweep file: whatever "did you mean" and "write ..." name
// has to be known at the place that they name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "jobspec/check.h"
#include "jobspec/search/search.h"
#include "jobspec/sweep.h"
#include "jobspec/synonym_table.h"
#include "tests/support/fuzz.h"

namespace thalweg::jobspec {

/// A file with one place for a key: "@" stands for "KEY: VALUE".
struct KeyPlace {
  std::string path;  ///< of the map that the key is put in; empty: the top of the file
  std::string text;
  std::string train = "{}";
};

inline std::vector<KeyPlace> key_places(const Schema& schema) {
  const std::string grid = "method: grid\nmetric: {name: val/loss, goal: minimize}\n";
  const std::string axis = "parameters: {seed: {values: [1, 2]}}\n";
  const std::string program = "command: [echo]\nmetric: {name: loss, goal: minimize}\n";
  std::vector<KeyPlace> places{
      {"", grid + axis + "@\n"},
      {"", program + "@\n"},
      {"", "method: study\n@\n"},
      {"train", grid + axis + "train: {@}\n"},
      {"parameters", grid + "parameters: {@}\n"},
      {"metric", grid.substr(0, grid.find("metric")) + axis + "metric: {name: val/loss, @}\n"},
      {"study", "method: study\nstudy: {@}\n"},
  };
  for (const char* section : {"resources", "limits", "slurm", "keep", "stop", "launch", "output"})
    places.push_back({section, program + section + ": {@}\n"});
  for (const char* section : {"resources", "limits", "slurm", "keep"})
    places.push_back({section, grid + axis + section + ": {@}\n"});
  for (const char* type : {"hyperband", "median"})
    places.push_back({"early_terminate", program + "early_terminate: {type: " + type + ", @}\n"});
  for (const SearchMethod& method : search_methods())
    places.push_back({std::string(method.name), "method: " + std::string(method.name) + "\n" +
                                                    axis + std::string(method.name) + ": {@}\n"});
  for (const char* kind :
       {"constant", "categorical", "categorical_w_probabilities", "int_uniform", "uniform",
        "q_uniform", "log_uniform_values", "normal", "q_log_normal", "beta", "inv_log_uniform"})
    places.push_back(
        {"parameters.seed", grid + "parameters: {seed: {distribution: " + kind + ", @}}\n"});
  places.push_back({"parameters.seed", grid + "parameters: {seed: {@}}\n"});
  for (const Section& section : schema.sections) {
    if (section.path.empty()) continue;
    std::vector<std::string> picks{""};
    for (const Variant& variant : section.variants)
      picks.push_back(section.selector + ": " + variant.name);
    for (const std::string& pick : picks) {
      std::string inner = pick, train;
      for (std::string path = section.path; !path.empty();) {
        const std::size_t dot = path.rfind('.');
        const std::string key = path.substr(dot == path.npos ? 0 : dot + 1);
        inner = key + ": {" + inner + (train.empty() ? (pick.empty() ? "@" : ", @") : "") + "}";
        train = inner;
        path = dot == path.npos ? "" : path.substr(0, dot);
      }
      const std::size_t at = train.find('@');
      std::string without = train;
      without.erase(at, 1);
      if (at > 1 && train[at - 2] == ',') without.erase(at - 2, 2);
      places.push_back(
          {"train." + section.path, grid + axis + "train: {" + train + "}\n", "{" + without + "}"});
      places.push_back({"parameters", grid + "parameters: {@}\ntrain: {" + without + "}\n",
                        "{" + without + "}"});
    }
  }
  return places;
}

/// Words that people bring, keys of other places, slips of the finger.
inline std::vector<std::string> key_words(const Schema& schema) {
  std::set<std::string> words{"momentun", "Weight-Decay", "xyzzy", "10", "lr2", "min_max"};
  for (const KeySynonym& row : key_synonyms()) {
    std::istringstream in{std::string(row.words)};
    for (std::string word; in >> word;)
      words.insert(word);
    if (!row.means.empty()) words.insert(std::string(row.means.substr(row.means.rfind('.') + 1)));
  }
  const auto add = [&](const std::string& path, const std::string& name) {
    words.insert(name);
    words.insert(joined(path, name));
  };
  for (const Section& section : schema.sections) {
    if (!section.path.empty()) words.insert(section.path);
    for (const Option& option : section.options)
      add(section.path, option.name);
    for (const Variant& variant : section.variants)
      for (const Option& option : variant.options)
        add(section.path, option.name);
  }
  return {words.begin(), words.end()};
}

inline std::string with_key(const KeyPlace& place, const std::string& key) {
  std::string text = place.text;
  const bool axis = place.path == "parameters";
  text.replace(text.find('@'), 1, "\"" + key + "\": " + (axis ? "{values: [1, 2]}" : "1"));
  return text;
}

/// What is said of that key itself, nothing where it is taken.
inline std::optional<Diagnostic> said_of(const Schema& schema, const std::string& text,
                                         const std::string& path) {
  try {
    expand(parse_sweep(text, "sweep.yaml", schema), schema);
  } catch (const InputError& error) {
    for (const Diagnostic& diagnostic : error.diagnostics())
      if (diagnostic.key == path) return diagnostic;
  } catch (const std::exception&) {
    // What is no mistake of the file's words.
  }
  return std::nullopt;
}

/// The key that is there is refused as no key of that place, whatever its value.
inline bool is_unknown(const std::optional<Diagnostic>& said) {
  return said && (said->message.starts_with("unknown") ||
                  said->message.find("whose option this is") != std::string::npos);
}

/// The leaf of "batch: {global: 1}"; nothing where it is no such text.
inline std::optional<std::string> leaf_of(const std::string& text) {
  static const std::regex part(R"(^([A-Za-z_][\w.]*): (?:\{(.*)\}|.*)$)");
  std::string path, rest = text;
  for (std::smatch found; std::regex_match(rest, found, part);) {
    path = joined(path, found[1].str());
    std::string inner = found[2].str();
    rest = std::move(inner);
    if (rest.empty()) return path;
    if (rest.find(", ") != rest.npos) return std::nullopt;  // several keys
  }
  return path.empty() ? std::nullopt : std::optional(path);
}

struct NamedKeys {
  int asked = 0, named = 0;
};

/// Tries keys number `first` to `end` of a random order, each in a random place.
inline NamedKeys expect_named_keys_are_known(const Schema& schema, int usual) {
  const std::vector<KeyPlace> places = key_places(schema);
  const std::vector<std::string> words = key_words(schema);
  static const std::regex meant(R"(did you mean '([^']+)'\?)");
  static const std::regex written(R"(^write ([^;]*\S: [^;]*?)( under train| at the top level)?$)");
  NamedKeys counts;
  const test::FuzzRange range = test::fuzz_range(usual);
  for (int input = range.first; input < range.end(); ++input) {
    std::mt19937 random(static_cast<unsigned>(input));
    const KeyPlace& place = places[random() % places.size()];
    std::string key = words[random() % words.size()];
    switch (random() % 4) {
      case 0:
        key.erase(random() % key.size(), 1);
        break;
      case 1:
        key.insert(random() % key.size(), 1, static_cast<char>('a' + random() % 26));
        break;
      default:
        break;
    }
    if (key.empty()) continue;
    const auto said = said_of(schema, with_key(place, key), joined(place.path, key));
    if (!is_unknown(said)) continue;
    ++counts.asked;
    const std::string context = "THALWEG_FUZZ_FIRST=" + std::to_string(input) + ": " + key +
                                " in\n" + place.text + said->to_string();
    if (std::smatch found; std::regex_search(said->hint, found, meant)) {
      ++counts.named;
      const std::string name = found[1];
      EXPECT_NE(name, key) << context;
      EXPECT_FALSE(is_unknown(said_of(schema, with_key(place, name), joined(place.path, name))))
          << context;
    } else if (std::regex_search(said->hint, found, written)) {
      const auto leaf = leaf_of(found[1].str());
      if (!leaf) continue;
      ++counts.named;
      // A remedy in words may leave open where it belongs.
      std::vector<std::string> wheres{place.path, "train", ""};
      if (found[2].matched) wheres = {found[2] == " under train" ? "train" : ""};
      EXPECT_TRUE(std::any_of(wheres.begin(), wheres.end(), [&](const std::string& where) {
        const std::string path = joined(where, *leaf);
        if (path.starts_with("train."))
          return place.text.find("command:") == std::string::npos &&  // programs have no train
                 option_applies(schema, read_yaml(place.train, "train"), path.substr(6));
        return path.find('.') != path.npos ||
               !is_unknown(said_of(schema, place.text + path + ": 1\n", path));
      })) << context;
    }
  }
  return counts;
}

}  // namespace thalweg::jobspec
