// Where what anchors name may stand at the top of a sweep file.
#include <algorithm>

#include "jobspec/json_schema.h"
#include "jobspec/parse.h"

namespace thalweg::jobspec {
namespace {

bool is_key(const std::string& name) {
  for (const char* block : {"train", "parameters", "metric", "resources", "limits", "slurm"})
    if (name == block) return true;
  const std::vector<FileKey>& keys = file_keys();
  return std::any_of(keys.begin(), keys.end(),
                     [&](const FileKey& key) { return key.section.empty() && key.name == name; });
}

/// The line, from 1.
std::string_view line_of(std::string_view text, int line) {
  for (; line > 1 && !text.empty(); --line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return text.substr(0, text.find('\n'));
}

/// "base: &base {…}"
bool has_anchor(std::string_view line) {
  const std::size_t colon = line.find(':');
  const std::size_t at = line.find_first_not_of(" \t", colon == line.npos ? colon : colon + 1);
  return at != line.npos && line[at] == '&';
}

}  // namespace

void pass_over_anchors(std::string_view text, const Value& file, Fields& top, Parsing& parsing) {
  for (const auto& [key, value] : file.as_map()) {
    if (key.starts_with("x-")) {
      top.take_quietly(key);
    } else if (!is_key(key) && has_anchor(line_of(text, value.place.line))) {
      top.take_quietly(key);
      parsing.diagnostics.add(value.place, key, "unknown key",
                              "values for anchors may be given under a key that begins with x-, "
                              "which is passed over: x-" +
                                  key);
    }
  }
}

}  // namespace thalweg::jobspec
