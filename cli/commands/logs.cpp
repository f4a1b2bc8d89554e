// thalweg logs: what an attempt printed. The engine writes to standard error and a user's own lines
// to standard output, so both are shown unless one is asked for.
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

using daemon::api::Client;

constexpr auto look_again = std::chrono::milliseconds(500);

struct LogsOptions {
  std::string id;
  bool output = false, errors = false, journal = false, follow = false;

  /// In the API's words.
  std::vector<std::string> streams() const {
    if (journal) return {"journal"};
    if (output == errors) return {"stdout", "stderr"};
    return {output ? "stdout" : "stderr"};
  }
};

/// How far one of an attempt's files has been printed.
struct Stream {
  std::string name;
  std::int64_t offset = 0;
  bool over = false;  ///< the attempt has ended and all is printed
};

bool trial_is_over(const Json& trial) {
  const std::string state = text_at(trial, "state");
  return state != "pending" && state != "running";
}

/// The last attempt of a trial; attempt 0 where there is none yet.
jobspec::Id last_attempt(const Json& trial, jobspec::Id id) {
  const Json& attempts = list_at(trial, "attempts");
  if (!attempts.empty()) id = parse_id(text_at(attempts.back(), "id"));
  return id;
}

/// The only trial of a sweep with one trial.
jobspec::Id only_trial(Client& client, jobspec::Id id) {
  if (!is_sweep(id)) return id;
  const Json sweep = client.get(path_of(id));
  const Json& trials = list_at(sweep, "trials");
  if (trials.size() != 1)
    throw CommandError(
        exit_bad_input,
        "sweep " + id.to_string() + " has " + std::to_string(trials.size()) + " trials; which one?",
        "thalweg logs " + id.to_string() + ".1");
  return parse_id(text_at(trials[0], "id"));
}

/// Prints what is new in one file. `head` stands before it.
void print_news(Context& context, const std::string& path, Stream& stream,
                const std::string& head) {
  bool first = true;
  for (;;) {
    const Client::LogPart part = context.controller().get_log(
        path + "/log?stream=" + stream.name + "&offset=" + std::to_string(stream.offset));
    stream.over = part.ended && part.text.empty();
    if (part.text.empty() || !context.out) return;
    if (std::exchange(first, false) && !head.empty()) {
      context.out.flush();
      context.err << head << std::endl;
    }
    context.out << part.text << std::flush;
    stream.offset =
        std::max(part.next_offset, stream.offset + static_cast<std::int64_t>(part.text.size()));
  }
}

void print_attempt(Context& context, const LogsOptions& options, const jobspec::Id& id) {
  std::vector<Stream> streams;
  for (const std::string& name : options.streams())
    streams.push_back({name});
  std::string latest;  // whose text was printed last
  for (;;) {
    bool over = true;
    std::int64_t printed = 0;
    for (Stream& stream : streams) {
      const std::int64_t before = stream.offset;
      const std::string head = streams.size() > 1 && latest != stream.name
                                   ? "==> " + id.to_string() + " " + stream.name + " <=="
                                   : "";
      print_news(context, path_of(id), stream, head);
      if (stream.offset > before) latest = stream.name;
      over = over && stream.over;
      printed += stream.offset;
    }
    if (over || !options.follow || !context.out) {
      if (printed == 0)
        context.err << id.to_string() << " wrote nothing"
                    << (streams.size() == 1 ? " to " + streams[0].name : "") << '\n';
      return;
    }
    std::this_thread::sleep_for(look_again);
  }
}

/// With --follow, a trial's log goes on with its next attempt.
int print_trial(Context& context, const LogsOptions& options, const jobspec::Id& id) {
  jobspec::Id printed = id;
  for (;;) {
    const Json trial = context.controller().get(path_of(id));
    const jobspec::Id attempt = last_attempt(trial, id);
    if (attempt.attempt > printed.attempt) {
      if (options.follow) context.err << "==> " << attempt.to_string() << " <==" << std::endl;
      print_attempt(context, options, attempt);
      printed = attempt;
      if (!options.follow) return exit_ok;
      continue;
    }
    if (!options.follow || trial_is_over(trial)) {
      if (printed.attempt > 0) return exit_ok;
      const std::string why = text_at(member(trial, "progress"), "waiting_for");
      throw CommandError(exit_not_found,
                         id.to_string() + " has no attempt yet: it is " + text_at(trial, "state") +
                             (why.empty() ? "" : " (" + why + ")"),
                         "thalweg logs -f " + id.to_string() + " waits for it");
    }
    std::this_thread::sleep_for(look_again);
  }
}

int logs(Context& context, const LogsOptions& options) {
  const jobspec::Id id = only_trial(context.controller(), find_id(context, options.id));
  if (is_trial(id)) return print_trial(context, options, id);
  print_attempt(context, options, id);
  return exit_ok;
}

}  // namespace

Action make_logs(Arguments& arguments) {
  auto options = std::make_shared<LogsOptions>();
  arguments.positional("ID", options->id, "an attempt, or a trial (its last attempt)").completes =
      Completes::id;
  arguments.flag("--stdout", options->output, "only what it wrote to standard output");
  arguments.flag("--stderr", options->errors, "only what it wrote to standard error");
  arguments.flag("--journal", options->journal, "its journal (lines of JSON)");
  arguments.flag("-f,--follow", options->follow, "keep printing until it ends");
  return [options](Context& context) { return logs(context, *options); };
}

}  // namespace thalweg::cli
