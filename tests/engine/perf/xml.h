// Whether a text is well-formed XML, as far as pictures need it: elements, attributes, entities.
#pragma once

#include <regex>
#include <string>
#include <vector>

namespace thalweg::test {

/// Empty, or what is wrong.
inline std::string xml_error(const std::string& text) {
  static const std::regex kTag(
      R"re(<(/?)([A-Za-z][\w:.-]*)((?:\s+[\w:.-]+="[^"<&]*(?:&\w+;[^"<&]*)*")*)\s*(/?)>)re");
  static const std::regex kWords(R"re((?:[^<>&]|&(?:amp|lt|gt|quot|apos);)*)re");
  std::vector<std::string> open;
  bool had_root = false;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t tag = std::min(text.find('<', at), text.size());
    const std::string words = text.substr(at, tag - at);
    if (!std::regex_match(words, kWords)) return "stray characters: " + words;
    if (open.empty() && words.find_first_not_of(" \n") != std::string::npos)
      return "text outside the root: " + words;
    if (tag == text.size()) break;
    std::smatch match;
    const std::string rest = text.substr(tag, text.find('>', tag) + 1 - tag);
    if (!std::regex_match(rest, match, kTag)) return "no tag: " + rest;
    const bool closes = match[1].length() > 0, empty = match[4].length() > 0;
    if (closes) {
      if (open.empty() || open.back() != match[2]) return "closes nothing: " + rest;
      open.pop_back();
    } else {
      if (open.empty() && had_root) return "a second root: " + rest;
      had_root = true;
      if (!empty) open.push_back(match[2]);
    }
    at = tag + rest.size();
  }
  if (!open.empty()) return "not closed: " + open.back();
  return had_root ? "" : "no root";
}

}  // namespace thalweg::test
