#include "cli/help.h"

#include <algorithm>
#include <cctype>
#include <ostream>
#include <sstream>
#include <string_view>

#include "cli/output/text.h"

namespace thalweg::cli {
namespace {

constexpr int widest = 80;

/// What follows the first line starts at `indent`.
void print_wrapped(std::ostream& out, const std::string& text, int indent) {
  bool first = true;
  for (const std::string& line : wrap(text, widest - indent)) {
    out << (first ? "" : std::string(indent, ' ')) << line << '\n';
    first = false;
  }
}

void print_row(std::ostream& out, const std::string& left, const std::string& right, int width) {
  out << "  " << pad_right(left, width) << "  ";
  if (display_width(left) > width) out << '\n' << std::string(width + 4, ' ');
  print_wrapped(out, right, width + 4);
}

void print_example(std::ostream& out, const Palette& palette, const char* example) {
  out << '\n' << palette(Tint::bold, "Example:") << '\n';
  std::istringstream lines(example);
  for (std::string line; std::getline(lines, line);)
    out << "  " << line << '\n';
}

std::string left_side(const Argument& argument) {
  std::string left = argument.names;
  std::replace(left.begin(), left.end(), ',', ' ');
  if (argument.names.starts_with("--")) left = "   " + left;
  if (!argument.value.empty() && !argument.positional()) left += " " + argument.value;
  return left;
}

/// Whether the text has the name as a word of its own.
bool names(const std::string& text, const std::string& name) {
  const auto of_word = [&](std::size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0);
  };
  for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + 1))
    if (!of_word(at - 1) && !of_word(at + name.size())) return true;
  return false;
}

std::string right_side(const Argument& argument) {
  const bool told = std::all_of(argument.choices.begin(), argument.choices.end(),
                                [&](const std::string& name) { return names(argument.doc, name); });
  return told ? argument.doc : argument.doc + ": " + join(argument.choices, ", ");
}

std::string usage(const Command& command, const Arguments& arguments) {
  std::string line = std::string("thalweg ") + command.name;
  bool options = false;
  for (const Argument& argument : arguments.all()) {
    options = options || !argument.positional();
    if (!argument.positional()) continue;
    const std::string name = argument.names + (argument.many() ? "..." : "");
    line += argument.required ? " " + name : " [" + name + "]";
  }
  return line + (options ? " [options]" : "");
}

}  // namespace

void print_help(std::ostream& out, const Palette& palette) {
  out << "Thalweg runs sweeps of distributed training, on a Slurm cluster or on this\nmachine, and "
         "reports which configuration reaches the target first, at what cost.\n\n"
      << palette(Tint::bold, "Usage:") << " thalweg COMMAND [options]\n";
  int width = 0;
  for (const Command& command : commands())
    width = std::max(width, display_width(command.name));
  for (const Command& command : commands()) {
    for (const CommandGroup& group : command_groups())
      if (std::string_view(group.first) == command.name)
        out << '\n' << palette(Tint::bold, std::string(group.title) + ":") << '\n';
    print_row(out, command.name, command.summary, width);
  }
  out << "\n`thalweg COMMAND --help` says more about one. Ids: 12 is a sweep, 12.3 its third\n"
         "trial, 12.3.1 the first attempt of that trial.\n\n"
      << palette(Tint::bold, "Environment:") << '\n';
  print_row(out, "THALWEG_HOME",
            "where the controller keeps its files (default: ~/.local/state/thalweg)", 12);
  print_row(out, "NO_COLOR", "set: no colors", 12);
  out << '\n' << palette(Tint::bold, "Exit codes:") << '\n';
  for (const ExitMeaning& exit : exit_meanings)
    print_row(out, pad_left(std::to_string(exit.code), 3), exit.meaning, 3);
  print_example(out, palette, "thalweg run sweep.yaml");
}

void print_command_help(std::ostream& out, const Palette& palette, const Command& command,
                        const Arguments& arguments) {
  std::string summary = command.summary;
  summary[0] = static_cast<char>(std::toupper(summary[0]));
  out << summary << ".\n";
  if (*command.details != '\0') {
    out << '\n';
    print_wrapped(out, command.details, 0);
  }
  out << '\n'
      << palette(Tint::bold, "Usage:") << ' ' << usage(command, arguments) << "\n\n"
      << palette(Tint::bold, "Arguments:") << '\n';
  int width = display_width("-h --help");
  for (const Argument& argument : arguments.all())
    width = std::max(width, display_width(left_side(argument)));
  for (const Argument& argument : arguments.all())
    print_row(out, left_side(argument), right_side(argument), std::min(width, 26));
  print_row(out, "-h --help", "this text", std::min(width, 26));
  print_example(out, palette, command.example);
}

}  // namespace thalweg::cli
