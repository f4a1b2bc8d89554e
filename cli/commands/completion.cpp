// thalweg completion: a script for the shell, made from the table of commands.
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/completion_scripts.h"

namespace thalweg::cli {
namespace {

struct CompletionOptions {
  std::string shell;
};

int completion(Context& context, const CompletionOptions& options) {
  std::vector<DeclaredCommand> all;
  for (const Command& command : commands()) {
    DeclaredCommand declared{&command, {}, {}};
    declared.keep_alive = declare(command, declared.arguments);
    all.push_back(std::move(declared));
  }
  for (const ShellScript& script : shell_scripts)
    if (options.shell == script.shell) context.out << script.write(all);
  return exit_ok;
}

}  // namespace

Action make_completion(Arguments& arguments) {
  auto options = std::make_shared<CompletionOptions>();
  Argument& shell = arguments.positional("SHELL", options->shell, "the shell");
  for (const ShellScript& script : shell_scripts)
    shell.choices.push_back(script.shell);
  shell.completes = Completes::choices;
  return [options](Context& context) { return completion(context, *options); };
}

}  // namespace thalweg::cli
