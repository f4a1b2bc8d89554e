#include "cli/application.h"

#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "cli/command.h"
#include "cli/commands/common.h"
#include "cli/help.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/messages.h"
#include "jobspec/value.h"

namespace thalweg::cli {
namespace {

using daemon::api::ApiError;
using daemon::api::Unreachable;

int report_error(Context& context, int code, const std::string& message,
                 const std::string& hint = {}) {
  context.out.flush();  // what was printed before comes before
  const Palette palette(context.error_terminal.colour);
  context.err << palette(Tint::red, "thalweg:") << ' ' << message << '\n';
  if (!hint.empty()) context.err << "  " << hint << '\n';
  return code;
}

int exit_code_of(int http_status) {
  if (http_status == 400) return exit_bad_input;
  if (http_status == 404) return exit_not_found;
  return exit_failed;
}

int report_error(Context& context, const ApiError& error) {
  context.out.flush();
  const auto diagnostics = daemon::api::diagnostics_from(error.body());
  for (const auto& diagnostic : diagnostics)
    context.err << diagnostic.to_string() << '\n';
  // With diagnostics the message only repeats them.
  const std::string message =
      diagnostics.empty() ? error.what() : count_of(diagnostics.size(), "mistake");
  return report_error(context, exit_code_of(error.status()), message);
}

/// The command that somebody means who calls it as other programs do; empty where none is known.
std::string meant(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    std::istringstream synonyms(command.synonyms);
    for (std::string synonym; synonyms >> synonym;)
      if (synonym == name) return command.name;
    names.push_back(command.name);
  }
  return jobspec::nearest(name, names);
}

int unknown_command(Context& context, const std::string& name) {
  const std::string near = meant(name);
  return report_error(
      context, exit_bad_input, "there is no command '" + printable(name) + "'",
      near.empty() ? "thalweg --help lists them" : "did you mean 'thalweg " + near + "'?");
}

int run_command(Context& context, const Command& command, const std::vector<std::string>& words) {
  Arguments arguments;
  const Action action = declare(command, arguments);
  if (!parse_arguments(arguments, command.name, words)) {
    print_command_help(context.out, context.palette, command, arguments);
    return exit_ok;
  }
  context.acts = acts(command);
  return action(context);
}

int dispatch(Context& context, std::vector<std::string> words) {
  if (words.empty()) {
    print_help(context.out, context.palette);
    return exit_bad_input;
  }
  std::string name = words.front();
  words.erase(words.begin());
  if (name == "--version" || name == "-V") name = "version";
  if (name == "--help" || name == "-h" || name == "help") {
    if (words.empty()) {
      print_help(context.out, context.palette);
      return exit_ok;
    }
    name = words.front();
    words = {"--help"};
  }
  if (name == "--studies-manual") {  // of the build
    print_studies_manual(context.out);
    return exit_ok;
  }
  if (name.starts_with("-"))
    return report_error(context, exit_bad_input,
                        "expected a command before '" + printable(name) + "'",
                        "thalweg --help lists them");
  const Command* command = find_command(name);
  return command == nullptr ? unknown_command(context, name)
                            : run_command(context, *command, words);
}

}  // namespace

int run_application(const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  Context context(out, err);
  int code = exit_failed;
  try {
    code = dispatch(context, words);
  } catch (const CommandError& error) {
    code = report_error(context, error.code(), error.what(), error.hint());
  } catch (const ApiError& error) {
    code = report_error(context, error);
  } catch (const Unreachable& error) {
    code = report_error(context, exit_unreachable, error.what());
  } catch (const std::exception& error) {
    code = report_error(context, exit_failed, error.what());
  }
  if (code == exit_not_found)
    for (const std::string& line : other_records(context))
      err << "  " << line << '\n';
  out.flush();
  if (!out && code == exit_ok) return report_error(context, exit_failed, "cannot write the output");
  return code;
}

}  // namespace thalweg::cli
