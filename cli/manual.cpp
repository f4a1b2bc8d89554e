// thalweg-studies(1), made from the rows of db/studies when the program is built.
#include <ostream>
#include <string>
#include <string_view>

#include "cli/help.h"
#include "db/studies/study.h"

namespace thalweg::cli {
namespace {

/// For roff: "\" and "-" as they are, and no line that begins with a control character.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
  }
  return out;
}

std::string shown(const Argument& argument) {
  const std::string name = "\\fB" + roff(argument.names) + "\\fR";
  return argument.value.empty() ? name : name + " \\fI" + roff(argument.value) + "\\fR";
}

}  // namespace

void print_studies_manual(std::ostream& out) {
  out << ".TH THALWEG\\-STUDIES 1 \"\" \"Thalweg\" \"User Commands\"\n"
         ".SH NAME\nthalweg\\-studies \\- questions about recorded sweeps whose answer is a table\n"
         ".SH DESCRIPTION\n"
         "Further commands of\n.BR thalweg (1).\n"
         "Each takes sweeps, by default the newest, or trials, and prints a table.\n"
         "A sweep's report has a section for most of them.\n"
         ".SH COMMANDS\n";
  for (const Command& command : commands()) {
    if (!command.study) continue;
    Arguments arguments;
    const Action kept = declare(command, arguments);
    out << ".TP\n.BR " << command.name << " \"\"";
    for (const Argument& argument : arguments.all())
      if (argument.positional())
        out << (argument.required ? " \" \\fI" : " \" [\\fI") << roff(argument.names)
            << (argument.required ? "\\fR...\"" : "\\fR...]\"");
    std::string summary = command.summary;
    summary[0] = static_cast<char>(std::toupper(summary[0]));
    out << "\n" << roff(summary) << ".\n" << roff(command.details) << "\n.RS\n";
    for (const Argument& argument : arguments.all())
      if (!argument.positional())
        out << ".IP \"" << shown(argument) << "\" 4\n" << roff(argument.doc) << "\n";
    out << ".RE\n.IP\n.nf\n" << roff(command.example) << "\n.fi\n";
  }
  out << ".SH SEE ALSO\n.BR thalweg (1)\n";
}

}  // namespace thalweg::cli
