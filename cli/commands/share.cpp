// thalweg share: groups whose members may look at a sweep, where one controller serves a site.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {
namespace {

namespace api = daemon::api;

struct ShareOptions {
  std::string id;
  std::vector<std::string> add, remove;
  Format format;
};

Json ask(Context& context, const jobspec::Id& id, const ShareOptions& options) {
  if (!options.add.empty() || !options.remove.empty())
    return context.controller().post(
        "/v1/share",
        {{"id", id.to_string()}, {"add_groups", options.add}, {"remove_groups", options.remove}});
  const Json answer = context.controller().get(path_of(id));
  return api::to_json(
      api::ShareAnswer{id.to_string(), read_answer<api::SweepSnapshot>(answer).groups});
}

int share(Context& context, const ShareOptions& options) {
  const jobspec::Id id = find_id(context, options.id);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, id.to_string() + " is no sweep",
                       "its sweep is " + std::to_string(id.sweep));
  const Json answer = ask(context, id, options);
  const auto shared = read_answer<api::ShareAnswer>(answer);
  if (options.format.json)
    print_json(context.out, answer);
  else if (shared.groups.empty())
    context.out << "sweep " << shared.id << " is not shared\n";
  else
    context.out << "sweep " << shared.id << " is shared with "
                << printable(join(shared.groups, ", ")) << '\n';
  return exit_ok;
}

}  // namespace

Action make_share(Arguments& arguments) {
  auto options = std::make_shared<ShareOptions>();
  arguments.positional("SWEEP", options->id, "a sweep, as 12").completes = Completes::id;
  arguments.option(
      "--group", "GROUPS", options->add,
      "let members of these groups look at it; you must be in each, unless you are an operator");
  arguments.option("--remove", "GROUPS", options->remove, "groups that may no longer look at it");
  add_json(arguments, options->format);
  return [options](Context& context) { return share(context, *options); };
}

}  // namespace thalweg::cli
