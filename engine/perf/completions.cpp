#include "engine/perf/completions.h"

#include "engine/perf/options.h"
#include "engine/perf/subjects.h"

namespace thalweg::engine::perf {
namespace {

std::string names() {
  std::string text = "all";
  for (const auto& name : subject_names()) {
    text += " " + name;
  }
  return text;
}

/// None of them is set.
std::vector<CommandOption> rows() {
  static Options unused;
  return option_rows(unused);
}

bool completes_file(const CommandOption& row) {
  return row.choices == "FILE";
}

std::string bash() {
  std::string options, cases;
  for (const auto& row : rows()) {
    options += row.name + " ";
    if (row.value.empty()) continue;
    cases += "    " + (!row.letter.empty() ? row.letter + "|" : "") + row.name +
             ") COMPREPLY=($(compgen " + (completes_file(row) ? "-f" : "-W '" + row.choices + "'") +
             " -- \"$word\")); return ;;\n";
  }
  return "# bash completion for thalweg-perf; made by `thalweg-perf --completion bash`\n"
         "_thalweg_perf() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]}\n"
         "  case ${COMP_WORDS[COMP_CWORD-1]} in\n" +
         cases + "  esac\n  COMPREPLY=($(compgen -W '" + options + names() +
         "' -- \"$word\"))\n}\ncomplete -F _thalweg_perf thalweg-perf\n";
}

/// Brackets and colons are zsh's own.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh() {
  std::string arguments;
  for (const auto& row : rows()) {
    const std::string value =
        row.value.empty()
            ? ""
            : ":" + row.value + ":" + (completes_file(row) ? "_files" : "(" + row.choices + ")");
    const std::string rest = "'[" + zsh_text(row.help) + "]" + value + "' \\\n";
    const std::string name = row.name, letter = row.letter;
    arguments += "    ";
    if (!letter.empty())
      arguments += "'(" + letter + " " + name + ")'{" + letter + "," + name + "}";
    arguments += (letter.empty() ? name : "") + rest;
  }
  return "#compdef thalweg-perf\n"
         "# zsh completion for thalweg-perf; made by `thalweg-perf --completion zsh`\n"
         "_arguments \\\n" +
         arguments + "    '*:collective:(" + names() + ")'\n";
}

std::string fish() {
  std::string text =
      "# fish completion for thalweg-perf; made by `thalweg-perf --completion fish`\n"
      "complete -c thalweg-perf -f -a '" +
      names() + "'\n";
  for (const auto& row : rows()) {
    text += "complete -c thalweg-perf -l " + row.name.substr(2);
    if (!row.letter.empty()) text += " -s " + row.letter.substr(1);
    if (completes_file(row)) text += " -r -F";
    if (!row.value.empty() && !completes_file(row)) text += " -x -a '" + row.choices + "'";
    text += " -d '" + row.help + "'\n";
  }
  return text;
}

}  // namespace

std::string completion_script(const std::string& shell) {
  if (shell == "bash") return bash();
  if (shell == "zsh") return zsh();
  if (shell == "fish") return fish();
  throw UsageError("--completion takes bash, zsh or fish, not '" + shell + "'");
}

}  // namespace thalweg::engine::perf
