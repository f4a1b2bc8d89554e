#include "cli/commands/file_changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "jobspec/diagnostic.h"
#include "jobspec/synonyms.h"

namespace thalweg::cli {

using jobspec::Value;

namespace {

/// Takes out what the dotted path names, where it is there.
void remove(Value& tree, const std::string& path) {
  const auto dot = path.rfind('.');
  const Value* const found = dot == std::string::npos ? &tree : tree.find(path.substr(0, dot));
  if (found == nullptr || !found->is_map()) return;
  const std::string key = path.substr(dot + 1);  // all of it without a dot
  Value rest = *found;
  std::erase_if(rest.as_map(), [&](const auto& entry) { return entry.first == key; });
  if (dot == std::string::npos)
    tree = std::move(rest);
  else
    tree.set(path.substr(0, dot), std::move(rest));
}

/// Options of a training stand under `train` (of programs under `config`): without it the file
/// would be wrong, and nobody has seen that file.
void refuse_option_at_top(const Value& file, const std::string& path, const std::string& change) {
  const std::string top = path.substr(0, path.find('.'));
  if (file.find(top) != nullptr) return;
  for (const jobspec::Meaning& meaning : jobspec::meanings_of_key("", top))
    if (meaning.means == "train" || meaning.means == "train." + top)
      throw CommandError(
          exit_bad_input, fmt::format("--set {}: {} is no key of a sweep file", path, top),
          fmt::format("--set {}.{}", file.find("train") ? "train" : "config", change));
}

}  // namespace

Value read_value(const std::string& text, const std::string& option) {
  try {
    return jobspec::read_yaml(text, option);
  } catch (const jobspec::InputError& error) {
    throw CommandError(exit_bad_input, error.what());
  }
}

void apply_change(Value& file, const std::string& change) {
  const auto equals = change.find('=');
  const std::string path = change.substr(0, equals);
  if (equals == std::string::npos || path.empty() || path.front() == '.' || path.back() == '.' ||
      path.find("..") != std::string::npos)
    throw CommandError(exit_bad_input, "--set " + change + ": expected PATH=VALUE",
                       "for example --set train.epochs=20");
  refuse_option_at_top(file, path, change);
  if (equals + 1 == change.size()) return remove(file, path);
  Value value = read_value(change.substr(equals + 1), "--set " + path);
  try {
    file.set(path, std::move(value));
  } catch (const std::invalid_argument&) {
    const std::string above = path.substr(0, path.rfind('.'));
    throw CommandError(exit_bad_input,
                       fmt::format("--set {}: {} is not a map of keys", path, above),
                       fmt::format("set the whole of it: --set '{}={{…}}'", above));
  }
}

}  // namespace thalweg::cli
