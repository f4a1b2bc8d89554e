// thalweg run: submit, watch to the end, compare.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/comparison.h"
#include "cli/commands/submission.h"
#include "cli/commands/table.h"
#include "cli/commands/watching.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct RunOptions {
  SubmitOptions submit;
  Format format;
  bool cancel_on_interrupt = false;
};

int run(Context& context, const RunOptions& options) {
  const Json submitted = submit_sweep(context, options.submit, Purpose::submit);
  if (!options.format.json) print_submitted(context, submitted);
  WatchOptions watch;
  watch.id = parse_id(text_at(submitted, "id"));
  watch.cancel_on_interrupt = options.cancel_on_interrupt;
  watch.to_errors = options.format.json;
  const WatchResult watched = watch_sweep(context, watch);
  const Json answer = context.controller().get("/v1/sweeps/" + watch.id.to_string() + "/compare");
  if (options.format.json) {
    print_json(context.out,
               {{"submitted", submitted}, {"sweep", watched.last}, {"comparison", answer}});
    return watched.exit_code();
  }
  const auto comparison = read_answer<ComparisonMessage>(answer);
  context.out << '\n';
  print_comparison(context, comparison);
  const std::string id = watch.id.to_string();
  const int code = watched.exit_code();
  if (code != exit_failed)
    print_comparison_next(context, comparison);
  else if (watched.all_finished())
    print_next(context, {{"thalweg show " + id, "what trials reported instead"},
                         {"thalweg logs " + id + ".1", "what one of them printed"}});
  else if (watched.any_failed())
    print_next(context, {{"thalweg show " + id, "why trials failed"},
                         {"thalweg retry " + id, "run the failed trials again"}});
  else
    print_next(context,
               {{"thalweg show " + id, "why trials ended"},
                {"thalweg retry " + id + " --state cancelled", "run the cancelled trials again"}});
  return code;
}

}  // namespace

Action make_run(Arguments& arguments) {
  auto options = std::make_shared<RunOptions>();
  add_submit_options(arguments, options->submit);
  arguments.flag("--cancel-on-interrupt", options->cancel_on_interrupt,
                 "Ctrl-C cancels the sweep instead of leaving it running");
  add_json(arguments, options->format);
  return [options](Context& context) { return run(context, *options); };
}

}  // namespace thalweg::cli
