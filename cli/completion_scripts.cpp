#include "cli/completion_scripts.h"

#include <fmt/format.h>

#include "base/shell.h"
#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

/// For `sh`, $1 is the word so far: sweeps, or the trials of the sweep that it begins with. Ids are
/// only offered by a controller that already runs: completing a word must not start one.
constexpr const char* list_ids =
    "thalweg daemon status >/dev/null 2>&1 && case \"$1\" in *.*) thalweg show \"${1%%.*}\" --csv "
    "2>/dev/null | tail -n +2 | cut -d, -f1,2 | tr , . ;; *) thalweg ls --csv 2>/dev/null | tail "
    "-n "
    "+2 | cut -d, -f1 ;; esac";

/// For `sh`: $1 is `metrics` or `groups`, $2 an id, or nothing for the newest sweep.
constexpr const char* list_names =
    "thalweg daemon status >/dev/null 2>&1 || exit 0; id=${2:-$(thalweg ls -n 1 --csv 2>/dev/null "
    "| tail -n +2 | cut -d, -f1)}; { case $1 in metrics) thalweg curve \"$id\" --list ;; *) "
    "thalweg "
    "show \"${id%%.*}\" --csv | head -n 1 | sed \"s/.*,attempts,//; "
    "s/step,loss,metric,best,reason$//\" | tr , \"\\n\" ;; esac; } 2>/dev/null";

const Argument* first_positional(const Arguments& arguments) {
  for (const Argument& argument : arguments.all())
    if (argument.positional()) return &argument;
  return nullptr;
}

/// What bash offers for a value; empty where it has no own list.
std::string bash_values(const Argument& argument) {
  switch (argument.completes) {
    case Completes::id:
      return "$(_thalweg_ids \"$word\")";
    case Completes::metric:
      return "$(_thalweg_names metrics)";
    case Completes::id_or_metric:
      return "$(_thalweg_ids \"$word\") $(_thalweg_names metrics)";
    case Completes::group:
      return "$(_thalweg_names groups)";
    default:
      return "";
  }
}

std::string bash_case(const DeclaredCommand& declared) {
  std::string values;
  std::vector<std::string> options;
  for (const Argument& argument : declared.arguments.all()) {
    if (argument.positional()) continue;
    const auto spellings = argument.spellings();
    options.insert(options.end(), spellings.begin(), spellings.end());
    if (argument.flag()) continue;
    if (const std::string own = bash_values(argument); !own.empty()) {
      // Behind the last comma.
      values += fmt::format(
          "        {}) local done=; [[ $word == *,* ]] && done=${{word%,*}},\n"
          "          COMPREPLY=($(compgen -P \"$done\" -W \"{}\" -- \"${{word##*,}}\")); return "
          ";;\n",
          join(spellings, "|"), own);
      continue;
    }
    if (argument.completes == Completes::file) {
      values += fmt::format("        {}) compopt -o default; return ;;\n", join(spellings, "|"));
      continue;
    }
    values += fmt::format("        {}) COMPREPLY=($(compgen -W {} -- \"$word\")); return ;;\n",
                          join(spellings, "|"), shell_quoted(join(argument.choices, " ")));
  }
  options.push_back("--help");
  std::string text = fmt::format("    {})\n", declared.command->name);
  if (!values.empty()) text += "      case $before in\n" + values + "      esac\n";
  text +=
      fmt::format("      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W {} -- \"$word\"))\n",
                  shell_quoted(join(options, " ")));
  if (const Argument* positional = first_positional(declared.arguments)) {
    if (positional->completes == Completes::file)
      text += "      else compopt -o default\n";
    else if (const std::string own = bash_values(*positional); !own.empty())
      text += fmt::format("      else COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))\n", own);
    else if (!positional->choices.empty())
      text += fmt::format("      else COMPREPLY=($(compgen -W {} -- \"$word\"))\n",
                          shell_quoted(join(positional->choices, " ")));
  }
  return text + "      fi ;;\n";
}

/// For the inside of a zsh _arguments specification.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_values(const Argument& argument) {
  if (argument.completes == Completes::file) return "_files";
  if (argument.completes == Completes::id) return "_thalweg_ids";
  if (argument.completes == Completes::metric) return "_thalweg_metrics";
  if (argument.completes == Completes::id_or_metric) return "_thalweg_ids_and_metrics";
  if (argument.completes == Completes::group) return "_thalweg_groups";
  return argument.choices.empty() ? " " : fmt::format("({})", join(argument.choices, " "));
}

std::string zsh_argument(const Argument& argument) {
  const std::string value = fmt::format(":{}:{}", zsh_text(argument.value), zsh_values(argument));
  if (argument.positional())
    return shell_quoted(fmt::format("{}{}",
                                    argument.many()     ? "*"
                                    : argument.required ? ""
                                                        : ":",
                                    value));
  const auto spellings = argument.spellings();
  const std::string rest =
      shell_quoted(fmt::format("[{}]{}", zsh_text(argument.doc), argument.flag() ? "" : value));
  if (spellings.size() == 1) return spellings[0] + rest;
  return fmt::format("'({})'{{{}}}{}", join(spellings, " "), join(spellings, ","), rest);
}

}  // namespace

std::string bash_script(const std::vector<DeclaredCommand>& commands) {
  std::vector<std::string> names;
  std::string cases;
  for (const DeclaredCommand& declared : commands) {
    names.push_back(declared.command->name);
    cases += bash_case(declared);
  }
  return fmt::format(
      "# bash completion for thalweg; made by `thalweg completion bash`\n"
      "_thalweg_ids() {{\n  {}\n}}\n"
      "_thalweg_names() {{\n"
      "  local id= word\n"
      "  for word in \"${{COMP_WORDS[@]:2}}\"; do\n"
      "    if [[ $word == [0-9]* ]]; then id=$word; break; fi\n"
      "  done\n"
      "  sh -c {} sh \"$1\" \"$id\"\n"
      "}}\n"
      "_thalweg() {{\n"
      "  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W {} -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}} in\n{}"
      "    help) COMPREPLY=($(compgen -W {} -- \"$word\")) ;;\n  esac\n"
      "}}\n"
      "complete -F _thalweg thalweg\n",
      list_ids, shell_quoted(list_names), shell_quoted(join(names, " ") + " help"), cases,
      shell_quoted(join(names, " ")));
}

std::string zsh_script(const std::vector<DeclaredCommand>& commands) {
  std::string names, cases;
  for (const DeclaredCommand& declared : commands) {
    const Command& command = *declared.command;
    names +=
        "    " + shell_quoted(std::string(command.name) + ":" + zsh_text(command.summary)) + "\n";
    cases += fmt::format("    {})\n      _arguments \\\n", command.name);
    for (const Argument& argument : declared.arguments.all())
      cases += "        " + zsh_argument(argument) + " \\\n";
    cases += "        '(-h --help)'{-h,--help}'[this text]'\n      ;;\n";
  }
  return fmt::format(
      "#compdef thalweg\n"
      "# zsh completion for thalweg; made by `thalweg completion zsh`\n"
      "_thalweg_list() {{\n  {}\n}}\n"
      "_thalweg_ids() {{\n  compadd -- $(_thalweg_list \"$PREFIX\")\n}}\n"
      "_thalweg_names() {{\n"
      "  compadd -- $(sh -c {} sh $1 ${{words[(r)[0-9]*]}})\n"
      "}}\n"
      "_thalweg_metrics() {{\n  _thalweg_names metrics\n}}\n"
      "_thalweg_ids_and_metrics() {{\n  _thalweg_ids\n  _thalweg_names metrics\n}}\n"
      "_thalweg_groups() {{\n  compset -P '*,'\n  _thalweg_names groups\n}}\n"
      "_thalweg() {{\n"
      "  local -a commands\n"
      "  commands=(\n{}  )\n"
      "  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $words[1] in\n{}    help) _describe command commands ;;\n  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _thalweg ]]; then _thalweg \"$@\"; else compdef _thalweg thalweg; "
      "fi\n",
      list_ids, shell_quoted(list_names), names, cases);
}

std::string fish_script(const std::vector<DeclaredCommand>& commands) {
  std::string text = fmt::format(
      "# fish completion for thalweg; made by `thalweg completion fish`\n"
      "function __thalweg_ids\n  sh -c {} sh (commandline -ct)\nend\n"
      "function __thalweg_names\n"
      "  sh -c {} sh $argv[1] (string match -r '^[0-9].*' -- (commandline -opc))[1]\n"
      "end\n"
      "complete -c thalweg -f\n",
      shell_quoted(list_ids), shell_quoted(list_names));
  std::vector<std::string> names;
  for (const DeclaredCommand& declared : commands)
    names.emplace_back(declared.command->name);
  text += fmt::format("complete -c thalweg -n '__fish_seen_subcommand_from help' -a {}\n",
                      shell_quoted(join(names, " ")));
  for (const DeclaredCommand& declared : commands) {
    const Command& command = *declared.command;
    text += fmt::format("complete -c thalweg -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        shell_quoted(command.summary));
    const std::string inside =
        fmt::format("complete -c thalweg -n '__fish_seen_subcommand_from {}'", command.name);
    for (const Argument& argument : declared.arguments.all()) {
      std::string line = inside;
      if (argument.positional()) {
        if (argument.completes == Completes::file) line += " -F";
        if (argument.completes == Completes::id || argument.completes == Completes::id_or_metric)
          line += " -a '(__thalweg_ids)'";
        if (argument.completes == Completes::id_or_metric)
          line += " -a '(__thalweg_names metrics)'";
        if (!argument.choices.empty()) line += " -a " + shell_quoted(join(argument.choices, " "));
        if (line != inside) text += line + "\n";
        continue;
      }
      for (const std::string& name : argument.spellings())
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (!argument.flag()) line += " -x";
      if (argument.completes == Completes::metric) line += " -a '(__thalweg_names metrics)'";
      if (argument.completes == Completes::group) line += " -a '(__thalweg_names groups)'";
      if (!argument.choices.empty()) line += " -a " + shell_quoted(join(argument.choices, " "));
      text += line + " -d " + shell_quoted(argument.doc) + "\n";
    }
  }
  return text;
}

}  // namespace thalweg::cli
