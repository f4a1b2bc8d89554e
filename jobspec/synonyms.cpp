#include "jobspec/synonyms.h"

#include <algorithm>
#include <set>

#include "jobspec/check.h"
#include "jobspec/synonym_table.h"

namespace thalweg::jobspec {
namespace {

constexpr std::string_view train_prefix = "train.";

/// The words of the table are squashed already.
bool among(std::string_view words, std::string_view word) {
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    if (words.substr(at, end - at) == word) return true;
    at = end + 1;
  }
  return false;
}

bool place_fits(std::string_view pattern, std::string_view place) {
  if (pattern == "*") return true;
  if (pattern.size() > 1 && pattern.substr(pattern.size() - 2) == ".*") {
    return place.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  if (pattern.size() > 1 && pattern.substr(0, 2) == "*.") {
    const std::string_view end = pattern.substr(1);
    return place.size() >= end.size() && place.substr(place.size() - end.size()) == end;
  }
  return pattern == place;
}

/// "batch.global" and "128" make "batch: {global: 128}".
std::string nested(std::string_view path, const std::string& value) {
  const std::size_t dot = path.find('.');
  if (dot == path.npos) return std::string(path) + ": " + value;
  return std::string(path.substr(0, dot)) + ": {" + nested(path.substr(dot + 1), value) + "}";
}

std::string short_text(const Value& value) {
  constexpr std::size_t longest = 40;
  if (value.is_null() || value.is_map()) return "...";
  const std::string text = flow_text(value);
  return text.size() > longest ? "..." : text;
}

}  // namespace

std::string squashed(std::string_view word) {
  std::string text;
  for (const char c : word) {
    if (c == '_' || c == '-' || c == ' ') continue;
    text += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return text;
}

std::vector<Meaning> meanings_of_key(std::string_view place, std::string_view key) {
  if (place == "parameters") {
    // A dotted name is a key of a section.
    if (key.starts_with(train_prefix)) key.remove_prefix(train_prefix.size());
    if (const std::size_t dot = key.rfind('.'); dot != key.npos) {
      const std::string_view section = key.substr(0, dot);
      const bool own = section == "resources" || section == "slurm" || section == "limits";
      return meanings_of_key(own ? std::string(section) : joined("train", section),
                             key.substr(dot + 1));
    }
  }
  const std::string word = squashed(key);
  std::vector<Meaning> meanings;
  if (word.empty()) return meanings;
  // Below one parameter there are no options of other sections.
  const bool distribution = place.starts_with("parameters.");
  for (const KeySynonym& row : key_synonyms()) {
    if (distribution && row.place == "*") continue;
    if (!place_fits(row.place, place) || !among(row.words, word)) continue;
    const bool same_map = !row.means.empty() && row.means[0] == '.';
    meanings.push_back(
        {(same_map ? std::string(place) : "") + std::string(row.means), std::string(row.remedy)});
  }
  return meanings;
}

std::optional<Meaning> meaning_of_value(std::string_view path, std::string_view text) {
  const std::string word = squashed(text);
  if (word.empty()) return std::nullopt;
  for (const ValueSynonym& row : value_synonyms()) {
    if (!place_fits(row.path, path) || !among(row.words, word)) continue;
    return Meaning{std::string(row.means), std::string(row.remedy)};
  }
  return std::nullopt;
}

std::string how_to_write(std::string_view path, std::string_view place, const Value& value) {
  const bool of_train = path.starts_with(train_prefix);
  const std::string_view in_train = of_train ? path.substr(train_prefix.size()) : path;
  if (place == "parameters" && (of_train || path.starts_with("resources."))) {
    return "did you mean '" + std::string(in_train) + "'?";
  }
  const std::size_t dot = path.rfind('.');
  const std::string_view parent = dot == path.npos ? "" : path.substr(0, dot);
  if (parent == place)
    return "did you mean '" + std::string(path.substr(parent.empty() ? 0 : dot + 1)) + "'?";
  const std::string text = short_text(value);
  if (!place.empty() && path.starts_with(std::string(place) + ".")) {
    return "write " + nested(path.substr(place.size() + 1), text);
  }
  return "write " + nested(in_train, text) + (of_train ? " under train" : " at the top level");
}

std::string flow_text(const Value& value) {
  if (!value.is_list() && !value.is_map()) return value.to_text();
  std::string text;
  const auto add = [&](const std::string& item) { text += (text.empty() ? "" : ", ") + item; };
  if (value.is_list()) {
    for (const Value& item : value.as_list())
      add(flow_text(item));
    return "[" + text + "]";
  }
  for (const auto& [key, item] : value.as_map())
    add(key + ": " + flow_text(item));
  return "{" + text + "}";
}

std::string main_key(std::string_view section) {
  for (const MainKey& row : main_keys()) {
    if (row.section == section) return std::string(row.key);
  }
  return "";
}

std::string data_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string file = path.substr(slash == path.npos ? 0 : slash + 1);
  const std::size_t dot = file.rfind('.');
  const std::string kind = squashed(dot == file.npos ? "" : file.substr(dot + 1));
  const auto one_of = [&](std::string_view kinds) { return !kind.empty() && among(kinds, kind); };
  if (one_of("npz h5 hdf5 hdf")) {
    return "data: {name: arrays, inputs: \"" + path + ":X\", labels: \"" + path +
           ":y\"}, with the names of the arrays after ':'";
  }
  if (one_of("npy")) return "data: {name: arrays, inputs: " + path + ", labels: LABELS.npy}";
  if (one_of("txt md")) return "data: {name: text, file: " + path + "}";
  if (one_of("bin")) return "data: {name: tokens, file: " + path + "}";
  if (one_of("gz idx") || file.find("-ubyte") != file.npos) {
    return "data: {name: idx, images: " + path + ", labels: LABELS}";
  }
  return "";
}

std::vector<std::string> meant_keys() {
  std::set<std::string> paths;
  for (const KeySynonym& row : key_synonyms()) {
    if (row.means.empty()) continue;
    paths.insert(row.means[0] == '.' ? std::string(row.place) + std::string(row.means)
                                     : std::string(row.means));
  }
  return {paths.begin(), paths.end()};
}

}  // namespace thalweg::jobspec
