// thalweg retry: run failed trials again.
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

struct RetryOptions {
  std::string id;
  std::vector<std::string> states;
  Format format;
};

int retry(Context& context, const RetryOptions& options) {
  const jobspec::Id id = find_id(context, options.id);
  const std::vector<std::string> states =
      options.states.empty() ? std::vector<std::string>{"failed"} : options.states;
  const Json answer =
      context.controller().post("/v1/retry", {{"id", id.to_string()}, {"states", states}});
  const long long n = count_at(answer, "retried");
  if (options.format.json) {
    print_json(context.out, answer);
  } else if (n == 0) {
    context.out << "nothing to retry: no trial of " << id.to_string() << " is "
                << join(states, " or ") << '\n';
    if (options.states.empty())
      print_next(context, {{"thalweg retry " + id.to_string() + " --state cancelled",
                            "those that were cancelled"}});
  } else {
    context.out << count_of(n, "trial") << (n == 1 ? " runs" : " run")
                << " again, from the last checkpoint where there is one\n";
    std::vector<std::pair<std::string, std::string>> next{
        {"thalweg watch " + id.to_string(), "follow"}};
    if (const long long left = answer.value("left_cancelled", 0); left > 0)
      next.push_back({"thalweg retry " + id.to_string() + " --state cancelled",
                      "also " + count_of(left, "trial") + " that " + (left == 1 ? "was" : "were") +
                          " cancelled or not run"});
    print_next(context, next);
  }
  return exit_ok;
}

}  // namespace

Action make_retry(Arguments& arguments) {
  auto options = std::make_shared<RetryOptions>();
  arguments.positional("ID", options->id, "a sweep or a trial").completes = Completes::id;
  arguments
      .option("--state", "STATES", options->states,
              "which trials, separated by commas (default: failed)")
      .choices = {"failed", "cancelled"};
  add_json(arguments, options->format);
  return [options](Context& context) { return retry(context, *options); };
}

}  // namespace thalweg::cli
