// CLI11 takes the words apart; what it says of mistakes is said here instead, the same for all
// programs and with the name as the user wrote it.
#include "base/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "base/nearest.h"

namespace thalweg {
namespace {

// CLI11 takes the next word as the value of "--name=": what stands for the empty value.
constexpr char kEmpty[] = "\x01";

bool joins_nothing(const std::string& word) {
  return word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1;
}

void restore(std::string& word) {
  if (word.ends_with(kEmpty)) word.pop_back();
}

void declare(CLI::App& app, const CommandOption& option) {
  const std::string names = option.letter.empty() ? option.name : option.letter + "," + option.name;
  if (option.value.empty()) {
    app.add_flag_callback(names, [&option] { option.set(""); })->disable_flag_override();
    return;
  }
  app.add_option(names,
                 [&option](std::vector<std::string> values) {
                   for (std::string& value : values) {
                     restore(value);
                     option.set(value);
                   }
                   return true;
                 })
      ->expected(1)
      ->take_all();
}

bool is(const CommandOption& option, const std::string& word) {
  return word == option.name || (!option.letter.empty() && word == option.letter);
}

[[noreturn]] void refuse_unknown(const std::vector<CommandOption>& options,
                                 const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CommandOption& option : options)
    known.push_back(option.name);
  const std::string near = name.starts_with("--") ? nearest(name, known) : "";
  throw UsageError("unknown option " + name +
                   (near.empty() ? "" : " (did you mean " + near + "?)"));
}

/// What CLI11 calls a mismatch: a last option without its value, or a flag with one.
std::string mismatch(const std::vector<CommandOption>& options,
                     const std::vector<std::string>& words, const std::string& otherwise) {
  for (const CommandOption& option : options) {
    if (!option.value.empty() && !words.empty() && is(option, words.back()))
      return words.back() + " needs a value: " + option.value;
    for (const std::string& word : words)
      if (option.value.empty() && word.starts_with(option.name + "="))
        return option.name + " takes no value";
  }
  return otherwise;
}

/// CLI11 leaves them as they came, options that it does not know among them.
std::vector<std::string> names_among(std::vector<std::string> rest,
                                     const std::vector<CommandOption>& options, Names names) {
  std::vector<std::string> result;
  bool only_names = false;
  for (std::string& word : rest) {
    restore(word);
    if (!only_names && word == "--") {
      only_names = true;
    } else if (!only_names && word.size() > 1 && word[0] == '-') {
      refuse_unknown(options, word);
    } else {
      only_names = only_names || names == Names::after_options;
      result.push_back(std::move(word));
    }
  }
  return result;
}

}  // namespace

std::vector<std::string> parse_command_line(const std::vector<CommandOption>& options,
                                            const std::vector<std::string>& words, Names names) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.prefix_command(names == Names::after_options);
  for (const CommandOption& option : options)
    declare(app, option);
  std::vector<std::string> reversed(words.rbegin(), words.rend());  // as CLI11 takes them
  for (std::string& word : reversed)
    if (joins_nothing(word)) word += kEmpty;
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    throw UsageError(mismatch(options, words, error.what()));
  }
  return names_among(app.remaining(), options, names);
}

std::string left_column(std::string text) {
  text.resize(std::max<std::size_t>(text.size() + 1, 28), ' ');
  return text;
}

std::string option_lines(const std::vector<CommandOption>& options) {
  std::string text;
  for (const CommandOption& option : options) {
    std::string left = "  " + (option.letter.empty() ? "    " : option.letter + ", ") + option.name;
    if (!option.value.empty()) left += " " + option.value;
    text += left_column(std::move(left)) + option.help + "\n";
  }
  return text;
}

void refuse_number(const std::string& option, const std::string& text, double low, double high) {
  char range[80];
  std::snprintf(range, sizeof range, " takes a number from %.12g to %.12g, not '", low, high);
  throw UsageError(option + range + text + "'");
}

}  // namespace thalweg
