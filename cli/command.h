// A command is one file in cli/commands and one row in commands/table.cpp, or a row of db/studies.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "cli/arguments.h"
#include "cli/context.h"
#include "cli/exit_code.h"

namespace thalweg::db {
struct Study;
}

namespace thalweg::cli {

/// Does the work after the arguments were read; returns the exit code or throws (CommandError,
/// ApiError, Unreachable).
using Action = std::function<int(Context&)>;

struct Command {
  const char* name;
  const char* summary;  ///< one line, in the list of commands
  const char* details;  ///< more, in its own --help; may be empty
  const char* example;  ///< one or several lines
  /// Declares its arguments; the action owns what they fill.
  Action (*make)(Arguments& arguments);
  /// What other programs call it, separated by spaces: named where somebody types one of them.
  const char* synonyms = "";
  const db::Study* study = nullptr;  ///< then there is no `make`
};

/// Declares the command's arguments.
Action declare(const Command& command, Arguments& arguments);

/// A heading of the list of commands.
struct CommandGroup {
  const char* title;
  const char* first;  ///< the name of its first command
};

/// In the order of the help text.
std::span<const Command> commands();
std::span<const CommandGroup> command_groups();

/// nullptr where there is none of this name.
const Command* find_command(const std::string& name);

/// Whether it changes, ends, removes or starts something: then a sweep's name must be the whole
/// one, and one sweep's.
bool acts(const Command& command);

}  // namespace thalweg::cli
