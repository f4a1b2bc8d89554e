#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/text.h"
#include "cli/exit_code.h"
#include "jobspec/value.h"

namespace thalweg::cli {
namespace {

void declare(CLI::App& app, const Argument& argument) {
  CLI::Option* option = std::visit(
      [&](auto* target) -> CLI::Option* {
        using Target = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<Target, bool>)
          return app.add_flag(argument.names, *target, argument.doc);
        else
          return app.add_option(argument.names, *target, argument.doc);
      },
      argument.target);
  if (argument.required) option->required();
  if (argument.many() && !argument.positional()) {
    // What follows its value is a positional: `compare --by lr 12`.
    option->expected(1)->take_all()->allow_extra_args(false);
    if (argument.commas) option->delimiter(',');
  }
  if (!argument.choices.empty()) option->check(CLI::IsMember(argument.choices));
}

/// What was probably meant by the value of an option that takes only some; empty where none is
/// wrong or near.
std::string nearest_choice(const Arguments& arguments, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const Argument& argument : arguments.all()) {
      const auto names = argument.spellings();
      const auto equals = words[i].find('=');
      if (argument.choices.empty() || argument.positional() ||
          std::count(names.begin(), names.end(), words[i].substr(0, equals)) == 0)
        continue;
      const std::string value = equals != std::string::npos ? words[i].substr(equals + 1)
                                : i + 1 < words.size()      ? words[i + 1]
                                                            : "";
      if (std::count(argument.choices.begin(), argument.choices.end(), value) > 0) continue;
      if (const std::string near = jobspec::nearest(value, argument.choices); !near.empty())
        return near;
    }
  return "";
}

/// The option that was probably meant, for the words nobody knows.
std::string hint_for(const Arguments& arguments, const std::vector<std::string>& words,
                     const std::string& command) {
  std::vector<std::string> known{"--help"};
  for (const Argument& argument : arguments.all())
    if (!argument.positional())
      for (const std::string& name : argument.spellings())
        known.push_back(name);
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::count(known.begin(), known.end(), name) > 0) continue;
    if (const std::string near = jobspec::nearest(name, known); !near.empty())
      return "did you mean " + near + "?";
  }
  if (const std::string near = nearest_choice(arguments, words); !near.empty())
    return "did you mean " + near + "?";
  return "thalweg " + command + " --help";
}

/// In place of the minus sign of a word that is a value: CLI11 would take it for options.
constexpr char minus = '\x1f';

/// Words as "-draft" where an argument takes them; false where none does.
bool hide_dashes(const Arguments& arguments, std::vector<std::string>& words) {
  std::vector<std::string> known{"-h"};
  bool takes = false;
  for (const Argument& argument : arguments.all()) {
    takes = takes || argument.dashed;
    const auto names = argument.spellings();
    known.insert(known.end(), names.begin(), names.end());
  }
  for (std::string& word : words)
    if (takes && word.size() > 1 && word[0] == '-' && word[1] != '-' &&
        std::count(known.begin(), known.end(), word) == 0)
      word[0] = minus;
  return takes;
}

void show_dashes(const Arguments& arguments) {
  for (const Argument& argument : arguments.all())
    if (argument.dashed)
      for (std::string& word : *std::get<std::vector<std::string>*>(argument.target))
        if (word.starts_with(minus)) word[0] = '-';
}

}  // namespace

std::vector<std::string> Argument::spellings() const {
  return split_at_commas(names);
}

bool parse_arguments(const Arguments& arguments, const std::string& command,
                     const std::vector<std::string>& words) {
  CLI::App app;
  for (const Argument& argument : arguments.all())
    declare(app, argument);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  const bool dashes = hide_dashes(arguments, reversed);
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    while (!message.empty() && message.back() == '\n')
      message.pop_back();
    throw CommandError(exit_bad_input, message, hint_for(arguments, words, command));
  }
  if (dashes) show_dashes(arguments);
  return true;
}

}  // namespace thalweg::cli
