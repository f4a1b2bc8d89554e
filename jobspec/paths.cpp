// The schema says which options are paths, and an option of the same name may be something else in
// another variant (data.labels of arrays is a file, of cifar-100 "fine" or "coarse"), so each
// resolved tree is looked at by itself.
#include "jobspec/paths.h"

#include <algorithm>
#include <filesystem>

#include "jobspec/check.h"
#include "jobspec/option.h"
#include "jobspec/parse.h"

namespace thalweg::jobspec {
namespace {

namespace fs = std::filesystem;

/// Without its "." parts. ".." stays: what stands before it may be a link.
std::string without_dots(const fs::path& path) {
  fs::path result;
  for (const fs::path& part : path)
    if (part != ".") result /= part;
  return result.string();
}

bool counts_from_the_file(const std::string& path) {
  const std::string start = path.substr(0, 2);
  if (path.empty() || path[0] == '/' || (path[0] == '$' && start != "$$")) return false;
  return path != "~" && start != "~/";
}

Value absolute(const Value& value, const std::string& directory) {
  Value result = value;
  if (value.is_list()) {
    for (Value& item : result.as_list())
      item = absolute(item, directory);
  } else if (value.is_string() && counts_from_the_file(value.as_string())) {
    result = without_dots(fs::path(directory) / value.as_string());
    result.place = value.place;
  }
  return result;
}

}  // namespace

Paths::Paths(const Sweep& sweep, const Schema& schema) : directory_(sweep.directory) {
  if (directory_.empty()) return;
  for (const Section& section : schema.sections) {
    const auto add = [&](const std::vector<Option>& options, const Variant* variant) {
      for (const Option& option : options) {
        const std::string path = joined(section.path, option.name);
        if (!option.path || !(sweep.train.find(path) || find_axis(sweep, path))) continue;
        rules_.push_back({path, variant ? joined(section.path, section.selector) : "",
                          variant ? variant->name : "",
                          variant && variant->name == section.default_value, no_paths_of(option)});
      }
    };
    add(section.options, nullptr);
    for (const Variant& variant : section.variants)
      add(variant.options, &variant);
  }
}

bool Paths::applies(const Rule& rule, const Value& train) const {
  if (rule.selector.empty()) return true;
  const Value* name = train.find(rule.selector);
  return name ? *name == Value(rule.variant) : rule.selected_by_default;
}

void Paths::make_absolute(Value& train) const {
  for (const Rule& rule : rules_) {
    if (!applies(rule, train)) continue;
    const Value* given = train.find(rule.path);
    if (given &&
        std::find(rule.no_paths.begin(), rule.no_paths.end(), *given) == rule.no_paths.end())
      train.set(rule.path, absolute(*given, directory_));
  }
}

std::string directory_of(const std::string& sweep_file) {
  if (sweep_file == "-") return fs::current_path().string();
  return without_dots(fs::absolute(sweep_file).parent_path());
}

}  // namespace thalweg::jobspec
