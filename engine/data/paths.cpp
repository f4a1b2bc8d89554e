// Done where the files are read and not at submission: a node's own variables ($TMPDIR of a job)
// are only known there, and what identifies a run must not depend on them.
#include "engine/data/paths.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "jobspec/option.h"
#include "jobspec/schema.h"
#include "jobspec/value.h"

namespace thalweg::engine::data {
namespace {

std::string home_folder(const std::string& key) {
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return home;
  if (const passwd* user = getpwuid(getuid()); user != nullptr) return user->pw_dir;
  throw std::invalid_argument(key + ": ~ is not known here: $HOME is not set");
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// The variable that begins at path[at], which is past the dollar; moves `at` past it.
std::string variable(const std::string& path, std::size_t& at, const std::string& key) {
  const bool braces = path[at] == '{';
  const std::size_t first = at + (braces ? 1 : 0);
  std::size_t end = first;
  while (end < path.size() && in_name(path[end]))
    ++end;
  const std::string name = path.substr(first, end - first);
  if (name.empty() || (braces && (end == path.size() || path[end] != '}')))
    throw std::invalid_argument(key + ": \"" + path +
                                "\": expected $NAME or ${NAME}; $$ is a dollar sign");
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0')
    throw std::invalid_argument(key + ": \"" + path + "\": $" + name + " is not set here");
  at = end + (braces ? 1 : 0);
  return value;
}

jobspec::Value whole(const jobspec::Value& value, const std::string& key) {
  jobspec::Value result = value;
  if (value.is_list()) {
    for (jobspec::Value& item : result.as_list())
      item = whole(item, key);
  } else if (value.is_string()) {
    result = whole_path(value.as_string(), key);
  }
  return result;
}

}  // namespace

std::string whole_path(const std::string& path, const std::string& key) {
  std::string text;
  std::size_t at = 0;
  if (path == "~" || path.substr(0, 2) == "~/") {
    text = home_folder(key);
    at = 1;
  }
  while (at < path.size()) {
    const char c = path[at++];
    if (c != '$' || at == path.size() || path[at] == '$') {
      text += c;
      at += c == '$' && at < path.size() ? 1 : 0;
    } else {
      text += variable(path, at, key);
    }
  }
  if (text.empty() || text[0] == '/') return text;
  if (path[0] == '$' && path.substr(0, 2) != "$$")
    throw std::invalid_argument(key + ": \"" + path + "\" is \"" + text +
                                "\" here, expected an absolute path in the variable");
  return std::filesystem::absolute(text).string();
}

jobspec::Value with_whole_paths(const jobspec::Value& tree,
                                const std::vector<jobspec::Option>& options) {
  jobspec::Value result = tree;
  for (const jobspec::Option& o : options) {
    const jobspec::Value* given = o.path ? tree.find(o.name) : nullptr;
    if (given == nullptr) continue;
    const std::vector<jobspec::Value> kept = jobspec::no_paths_of(o);
    if (std::find(kept.begin(), kept.end(), *given) == kept.end())
      result.set(o.name, whole(*given, "data." + o.name));
  }
  return result;
}

}  // namespace thalweg::engine::data
