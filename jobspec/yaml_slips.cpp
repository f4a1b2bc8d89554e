// What a YAML parser stumbles over is seldom what it names: these are the slips that people make.
#include "jobspec/yaml_slips.h"

#include <algorithm>
#include <sstream>
#include <vector>

#include "jobspec/reader.h"
#include "jobspec/value.h"

namespace thalweg::jobspec {
namespace {

/// The slips behind most syntax errors, looked for in the line that the parser stumbled over and
/// the two before it, where it often begins.
std::string slip_of(const std::string& row) {
  const std::size_t first = row.find_first_not_of(" \t\r");
  if (first == row.npos || row[first] == '#') return "";
  const std::string rest = row.substr(first);
  if (rest.compare(0, 2, "//") == 0) return "found //, expected # before a comment";
  if (rest.size() > 1 && rest[0] == '-' && rest[1] != ' ' && rest[1] != '-')
    return "found " + describe(rest) + ", expected a space after '-'";
  const std::size_t equals = rest.find('='), colon = rest.find(':');
  if (equals != rest.npos && colon == rest.npos && rest.find_first_of("\"'{[") == rest.npos)
    return "found '=', expected a colon and a space between a key and its value";
  const std::size_t second = colon == rest.npos ? colon : rest.find(": ", colon + 1);
  if (second != rest.npos && rest.find_first_of("\"'{[|>&*") == rest.npos)
    return "found a second ': ' in a line, expected quotes around a text that holds one";
  const auto count = [&](char c) { return std::count(rest.begin(), rest.end(), c); };
  if (count('[') > count(']')) return "found '[' without ']' in this line";
  if (count('{') > count('}')) return "found '{' without '}' in this line";
  return "";
}

}  // namespace

bool complain_about_slip(std::string_view text, int line, Diagnostics& diagnostics) {
  std::vector<std::string> rows{""};
  std::istringstream stream{std::string(text)};
  for (std::string row; std::getline(stream, row);)
    rows.push_back(std::move(row));
  for (int at = line; at > std::max(0, line - 3); --at) {
    if (at >= static_cast<int>(rows.size())) continue;
    const std::string slip = slip_of(rows[static_cast<std::size_t>(at)]);
    if (slip.empty()) continue;
    diagnostics.add({at, 0}, "", "this is not YAML: " + slip);
    return true;
  }
  return false;
}

}  // namespace thalweg::jobspec
