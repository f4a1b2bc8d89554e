// The command line of a program that is not `thalweg`: a table of options, from which
// parsing (CLI11's), the lines of --help and completions come.
#pragma once

#include <charconv>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace thalweg {

/// What is wrong with the command line, with the remedy.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

struct CommandOption {
  std::string name;     ///< "--ranks"
  std::string letter;   ///< "-n"; empty: none
  std::string value;    ///< what stands for the value in the help ("N"); empty: a flag
  std::string help;     ///< one line
  std::string choices;  ///< what a shell offers as value: words; "FILE"; empty: nothing
  /// Called once for each time that it is given, with the value. May throw UsageError.
  std::function<void(const std::string&)> set;
};

/// Where the words that are no options stand.
enum class Names { anywhere, after_options };

/// Calls `set` of the options that are given, in the order of `options`, and returns the other
/// words in theirs. "--name VALUE", "--name=VALUE", "-nVALUE" and "-n VALUE" are the same; nothing
/// after "--" is an option, nor, with Names::after_options, what follows the first other word.
/// Throws UsageError: unknown option (with the nearest), value missing, value for a flag.
std::vector<std::string> parse_command_line(const std::vector<CommandOption>& options,
                                            const std::vector<std::string>& words, Names names);

/// The options' lines of --help.
std::string option_lines(const std::vector<CommandOption>& options);
/// `text` as a left column of those lines.
std::string left_column(std::string text);

/// "--root takes a number from 0 to 7, not 'x'".
[[noreturn]] void refuse_number(const std::string& option, const std::string& text, double low,
                                double high);

/// The whole of `text` as a number in [low, high]. Throws UsageError.
template <class T>
T number(const std::string& option, const std::string& text, T low, T high) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !(value >= low && value <= high))
    refuse_number(option, text, static_cast<double>(low), static_cast<double>(high));
  return value;
}

}  // namespace thalweg
