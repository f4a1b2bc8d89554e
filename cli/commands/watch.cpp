// thalweg watch: follow a sweep or a trial.
#include "cli/commands/watching.h"

#include <nlohmann/json.hpp>

#include "cli/commands/table.h"

namespace thalweg::cli {
namespace {

struct WatchCommandOptions {
  std::string id;
  Format format;
};

int watch(Context& context, const WatchCommandOptions& options) {
  WatchOptions wanted;
  wanted.id = id_or_newest(context, options.id);
  wanted.id.attempt = 0;  // an attempt's progress is its trial's
  wanted.json_lines = options.format.json;
  return watch_sweep(context, wanted).exit_code();
}

}  // namespace

Action make_watch(Arguments& arguments) {
  auto options = std::make_shared<WatchCommandOptions>();
  Argument& id =
      arguments.positional("ID", options->id, "a sweep or a trial (default: the newest sweep)");
  id.required = false;
  id.completes = Completes::id;
  arguments.flag("--json", options->format.json,
                 "print each snapshot as one line of JSON, as it comes");
  return [options](Context& context) { return watch(context, *options); };
}

}  // namespace thalweg::cli
