// thalweg admin: what whoever looks after an installation asks. The controller's own program looks,
// since it reads the configuration and the record; none need run.
#include <memory>
#include <ostream>

#include "base/process.h"
#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

/// Of all checks together; each program that is asked has ten seconds.
constexpr double check_patience_s = 300;

struct AdminOptions {
  std::string what;
  bool site = false;
  Format format;
};

int check(Context& context, const AdminOptions& options) {
  if (!context.home().remote.empty())
    throw CommandError(exit_failed, "the controller is on another machine",
                       "there: thalweg admin check --site");
  const auto program = find_program("thalwegd");
  if (program.empty())
    throw CommandError(exit_not_found, "thalwegd is neither beside thalweg nor in PATH",
                       "install the package thalweg-controller");
  std::vector<std::string> command{program.string(), "--check", "--home",
                                   context.home().directory.string()};
  if (options.site) command.emplace_back("--site");
  if (options.format.json) command.emplace_back("--json");
  const ProgramOutput output = run_program(command, check_patience_s);
  context.out << output.out << std::flush;
  context.err << output.err;
  if (output.timed_out)
    throw CommandError(exit_failed, "the check has not ended within five minutes",
                       "a filesystem that does not answer, perhaps: df");
  return output.code;
}

}  // namespace

Action make_admin(Arguments& arguments) {
  auto options = std::make_shared<AdminOptions>();
  Argument& what = arguments.positional("WHAT", options->what, "what to do");
  what.choices = {"check"};
  what.completes = Completes::choices;
  arguments.flag("--site", options->site, "the home is one of a site's controller");
  arguments.flag("--json", options->format.json, "print as JSON");
  return [options](Context& context) { return check(context, *options); };
}

}  // namespace thalweg::cli
