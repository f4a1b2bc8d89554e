// --help, printed from the table of commands.
#pragma once

#include <iosfwd>

#include "cli/command.h"
#include "cli/output/terminal.h"

namespace thalweg::cli {

void print_help(std::ostream& out, const Palette& palette);
void print_command_help(std::ostream& out, const Palette& palette, const Command& command,
                        const Arguments& arguments);
/// thalweg-studies(1): the commands that are rows of db/studies.
void print_studies_manual(std::ostream& out);

}  // namespace thalweg::cli
