// thalweg cancel: stop a sweep or one trial.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct CancelOptions {
  std::string id;
  Format format;
};

int cancel(Context& context, const CancelOptions& options) {
  const jobspec::Id id = find_id(context, options.id);
  const Json answer = context.controller().post("/v1/cancel", {{"id", id.to_string()}});
  const long long n = count_at(answer, "cancelled");
  if (options.format.json)
    print_json(context.out, answer);
  else if (n == 0)
    context.out << "nothing to cancel: " << id.to_string() << " is over\n";
  else
    context.out << count_of(n, "trial")
                << " cancelled; running attempts write a checkpoint first\n";
  return exit_ok;
}

}  // namespace

Action make_cancel(Arguments& arguments) {
  auto options = std::make_shared<CancelOptions>();
  arguments.positional("ID", options->id, "a sweep or a trial").completes = Completes::id;
  add_json(arguments, options->format);
  return [options](Context& context) { return cancel(context, *options); };
}

}  // namespace thalweg::cli
