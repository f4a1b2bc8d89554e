// The macros of a command: what W&B calls by the same name means the same.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

#include "jobspec/program.h"

namespace thalweg::jobspec {
namespace {

using Words = std::vector<std::string>;

/// As Python's repr() of it: the shortest text that reads back the same, with an exponent below
/// 1e-4 and from 1e16 on only. PyYAML takes "5e-04" for a text.
std::string python_real(double value) {
  if (!std::isfinite(value)) return Value(value).to_text();
  const double size = std::abs(value);
  const bool fixed = size == 0 || (size >= 1e-4 && size < 1e16);
  char text[64];
  char* const end = std::to_chars(text, text + sizeof text, value,
                                  fixed ? std::chars_format::fixed : std::chars_format::scientific)
                        .ptr;
  std::string result(text, end);
  if (fixed && result.find('.') == result.npos) result += ".0";
  return result;
}

/// Which quotes it takes, and what it escapes, are repr()'s.
std::string python_quoted(const std::string& text) {
  const bool single = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = single ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    if (c == quote || c == '\\')
      result += {'\\', c};
    else if (c == '\n')
      result += "\\n";
    else if (c == '\r')
      result += "\\r";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + quote;
}

/// As Python's str() of it: what argparse and the like of W&B's users read.
std::string python_text(const Value& value, bool inside = false) {
  if (value.is_null()) return "None";
  if (value.is_bool()) return value.as_bool() ? "True" : "False";
  if (value.is_string()) return inside ? python_quoted(value.as_string()) : value.as_string();
  std::string text;
  if (value.is_list()) {
    for (const Value& item : value.as_list())
      text += (text.empty() ? "" : ", ") + python_text(item, true);
    return "[" + text + "]";
  }
  if (value.is_map()) {
    for (const auto& [key, item] : value.as_map())
      text += (text.empty() ? "" : ", ") + python_quoted(key) + ": " + python_text(item, true);
    return "{" + text + "}";
  }
  return value.is_int() ? value.to_text() : python_real(value.as_double());
}

/// Of letters, digits and what paths have, beginning with a letter, and nothing that Hydra reads as
/// another thing than a text.
bool is_plain_for_hydra(const std::string& text) {
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_'; };
  const auto plain = [&](unsigned char c) {
    return is_letter(c) || std::isdigit(c) != 0 || c == '/' || c == '.' || c == '-';
  };
  if (text.empty() || !(is_letter(static_cast<unsigned char>(text[0])) || text[0] == '/'))
    return false;
  std::string lower;
  for (const char c : text)
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char* word : {"null", "true", "false", "nan", "inf"})
    if (lower == word) return false;
  return std::all_of(text.begin(), text.end(), plain);
}

/// In single quotes. Before a quote, the closing one included, backslashes are doubled.
std::string hydra_quoted(const std::string& text) {
  std::string result = "'";
  std::size_t backslashes = 0;
  for (const char c : text) {
    if (c == '\'') result += std::string(backslashes + 1, '\\');
    result += c;
    backslashes = c == '\\' ? backslashes + 1 : 0;
  }
  return result + std::string(backslashes, '\\') + "'";
}

/// As Hydra's grammar of overrides reads it: texts stay texts, null stays null.
std::string hydra_text(const Value& value) {
  if (value.is_null()) return "null";
  if (value.is_string())
    return is_plain_for_hydra(value.as_string()) ? value.as_string()
                                                 : hydra_quoted(value.as_string());
  std::string text;
  if (value.is_list()) {
    for (const Value& item : value.as_list())
      text += (text.empty() ? "" : ",") + hydra_text(item);
    return "[" + text + "]";
  }
  if (value.is_map()) {
    for (const auto& [key, item] : value.as_map()) {
      text += text.empty() ? "" : ",";
      for (const char c : key)
        text += std::string_view("\\()[]{}:=, \t").find(c) == std::string_view::npos
                    ? std::string(1, c)
                    : std::string{'\\', c};
      text += ":" + hydra_text(item);
    }
    return "{" + text + "}";
  }
  return python_text(value);
}

/// Calls `each(dotted name, value)` for whatever is no map with keys.
template <class Each>
void for_leaves(const Value& config, const std::string& prefix, const Each& each) {
  for (const auto& [key, value] : config.as_map()) {
    const std::string name = prefix.empty() ? key : prefix + "." + key;
    if (value.is_map() && !value.as_map().empty())
      for_leaves(value, name, each);
    else
      each(name, value);
  }
}

Words arguments(const Value& config, const std::string& before,
                std::string (*text)(const Value&) = python_word) {
  Words words;
  for_leaves(config, "", [&](const std::string& name, const Value& value) {
    words.push_back(before + name + "=" + text(value));
  });
  return words;
}

Words arguments_of(const Value& config, const std::string& macro) {
  if (macro == "args") return arguments(config, "--");
  if (macro == "args_no_hyphens") return arguments(config, "");
  if (macro == "args_append_hydra") return arguments(config, "+", hydra_text);
  if (macro == "args_override_hydra") return arguments(config, "++", hydra_text);
  Words words;
  for_leaves(config, "", [&](const std::string& name, const Value& value) {
    const bool no_flags = macro == "args_no_boolean_flags";
    const bool flag = no_flags && value.is_bool();
    if (no_flags && value.is_null()) return;  // argparse has no way to be given None
    if (macro == "args_no_equals") {
      words.push_back("--" + name);
      words.push_back(python_text(value));
    } else if (!flag) {
      words.push_back("--" + name + "=" + python_text(value));
    } else if (value.as_bool()) {
      words.push_back("--" + name);
    }
  });
  return words;
}

/// One macro inside of a text; nothing where there is none of that name.
std::optional<std::string> one_word(const Program& program, const CommandValues& values,
                                    const std::string& macro, const Environment& environment) {
  constexpr std::string_view variable = "envvar:";
  if (macro.compare(0, variable.size(), variable) == 0) {
    const std::string name = macro.substr(variable.size());
    return environment(name).value_or(name);
  }
  const std::pair<std::string_view, std::string> words[] = {
      {"env", "/usr/bin/env"},
      {"interpreter", program.interpreter},
      {"program", program_path(program, environment).string()},
      {"args_json", values.config.to_json()},
      {"args_json_file", values.config_file},
      {"seed", std::to_string(values.seed)},
      {"folder", values.folder},
      {"nodes", std::to_string(values.nodes)},
      {"ranks", std::to_string(values.nodes * values.ranks_per_node)},
      {"ranks_per_node", std::to_string(values.ranks_per_node)},
      {"threads_per_rank", std::to_string(values.threads_per_rank)},
  };
  for (const auto& [name, word] : words)
    if (name == macro) return word;
  return std::nullopt;
}

/// A text with the macros inside of it.
std::string put_in(
    const Program& program, const CommandValues& values, const std::string& text,
    const std::function<std::optional<std::string>(const std::string&)>& environment) {
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = text.compare(i, 2, "${") == 0 ? text.find('}', i) : text.npos;
    std::optional<std::string> word;
    if (end != text.npos)
      word = one_word(program, values, text.substr(i + 2, end - i - 2), environment);
    result += word ? *word : std::string(1, text[i]);
    i = word ? end + 1 : i + 1;
  }
  return result;
}

constexpr const char* argument_macros[] = {"args",
                                           "args_no_equals",
                                           "args_no_hyphens",
                                           "args_no_boolean_flags",
                                           "args_append_hydra",
                                           "args_override_hydra"};

}  // namespace

std::string python_word(const Value& value) {
  return python_text(value);
}

Value program_config(const Program& program, const Value& train, std::uint64_t seed) {
  if (!program.passes_seed || train.find("seed")) return train;
  Map config{{"seed", static_cast<std::int64_t>(seed)}};
  for (const auto& entry : train.as_map())
    config.push_back(entry);
  return config;
}

std::filesystem::path path_in_folder(const Program& program, const std::string& path,
                                     const Environment& environment) {
  const std::optional<std::string> home =
      path.starts_with("~/") ? environment("HOME") : std::nullopt;
  if (home && !home->empty()) return std::filesystem::path(*home) / path.substr(2);
  return std::filesystem::path(program.directory) / path;
}

std::filesystem::path program_path(const Program& program, const Environment& environment) {
  if (program.file.empty()) return {};
  return path_in_folder(program, program.file, environment);
}

Words expand_command(const Program& program, const CommandValues& values,
                     const Environment& environment) {
  Words words;
  if (!program.container.empty()) {
    words = {"apptainer", "exec", "--bind", values.folder};
    words.push_back(path_in_folder(program, program.container, environment).string());
  }
  for (const std::string& element : program.command) {
    const bool whole = element.size() > 3 && element.compare(0, 2, "${") == 0 &&
                       element.find('}') == element.size() - 1;
    const std::string macro = whole ? element.substr(2, element.size() - 3) : "";
    if (std::find(std::begin(argument_macros), std::end(argument_macros), macro) !=
        std::end(argument_macros)) {
      const Words more = arguments_of(values.config, macro);
      words.insert(words.end(), more.begin(), more.end());
      continue;
    }
    words.push_back(put_in(program, values, element, environment));
  }
  return words;
}

std::filesystem::path working_directory(
    const Program& program, const CommandValues& values,
    const std::function<std::optional<std::string>(const std::string&)>& environment) {
  if (program.chdir.empty()) return program.directory;
  return std::filesystem::path(program.directory) /
         put_in(program, values, program.chdir, environment);
}

std::string shell_line(const Words& words) {
  std::string line;
  for (const std::string& word : words) {
    const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
             c > 126 ||
             std::string_view("_-+=.,:/@%").find(static_cast<char>(c)) != std::string_view::npos;
    });
    std::string quoted = "'";
    for (const char c : word)
      quoted += c == '\'' ? "'\\''" : std::string(1, c);
    line += (line.empty() ? "" : " ") + (plain ? word : quoted + "'");
  }
  return line;
}

}  // namespace thalweg::jobspec
