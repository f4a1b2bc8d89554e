// thalweg daemon: the controller itself.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <thread>

#include "base/file.h"
#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

using daemon::api::Client;

constexpr auto stop_patience = std::chrono::seconds(30);
constexpr auto look_again = std::chrono::milliseconds(100);

struct DaemonOptions {
  std::string what;
  std::int64_t lines = 50;
  bool follow = false;
  Format format;
};

/// Where one controller serves a site: "3 of 16 nodes, 40 of 100000 open trials, 12.5 of 100
/// node-hours in 30 days".
std::string quota_text(const Json& quota) {
  if (!quota.is_object()) return {};
  const auto part = [&](const char* used, const char* most, int digits, const char* unit) {
    const double limit = number_at(quota, most).value_or(0);
    const double value = number_at(quota, used).value_or(0);
    return limit > 0 ? fmt::format("{:.{}f} of {:.10g} {}", value, digits, limit, unit)
                     : fmt::format("{:.{}f} {}", value, digits, unit);
  };
  return part("nodes", "max_nodes", 0, "nodes") + ", " +
         part("open_trials", "trials", 0, "open trials") + ", " +
         part("node_hours_used", "node_hours", 1, "node-hours") + " in " +
         count_of(count_at(quota, "days"), "day");
}

void print_status(Context& context, const Json& ping) {
  std::vector<std::pair<std::string, Cell>> pairs{
      {"controller",
       Cell("running, process " + text_at(ping, "pid") + " on " + text_at(ping, "host"), "",
            Tint::green)},
      {"version", text_at(ping, "version")},
      {"user", text_at(ping, "user")},
      {"since", format_time(number_at(ping, "started").value_or(0))},
      {"home", text_at(ping, "home")},
      {"database", text_at(ping, "database")}};
  if (const Json& backends = member(ping, "backends"); backends.is_object())
    for (const auto& [name, text] : backends.items())
      pairs.emplace_back("backend " + name, plain_text(text));
  if (const Json& troubles = member(ping, "troubles"); troubles.is_array())
    for (const Json& trouble : troubles)
      pairs.emplace_back("trouble", Cell(plain_text(trouble), "", Tint::red));
  pairs.emplace_back("sweeps", count_of(count_at(ping, "active_sweeps"), "active sweep") + ", " +
                                   count_of(count_at(ping, "running_attempts"), "running attempt"));
  if (const std::string quota = quota_text(member(member(ping, "site"), "quota")); !quota.empty())
    pairs.emplace_back("yours", quota);
  for (const std::string& line : other_records(context))
    pairs.emplace_back("elsewhere", line);
  print_pairs(context, pairs);
}

int status(Context& context, const DaemonOptions& options) {
  Client& client = context.controller_if_any();
  if (!context.home().remote.empty()) context.controller();  // says what is wrong, if anything
  if (!client.ping()) {
    if (options.format.json)
      print_json(context.out, {{"running", false}, {"home", context.home().directory.string()}});
    else
      context.out << "no controller runs for " << context.home().directory.string()
                  << "; commands that need one start it, or: thalweg daemon start\n";
    return exit_unreachable;
  }
  Json ping = client.get("/v1/ping");
  if (options.format.json) {
    ping["running"] = true;
    print_json(context.out, ping);
  } else {
    print_status(context, ping);
  }
  return exit_ok;
}

int start(Context& context, const DaemonOptions& options) {
  const bool ran = context.controller_if_any().ping();
  context.controller();
  if (!options.format.json && ran) context.out << "a controller already runs\n";
  return status(context, options);
}

/// As long as the controller lives; it gives its lock back when the record is closed.
bool is_locked(const std::filesystem::path& lock) {
  const Descriptor file(open(lock.c_str(), O_RDONLY | O_CLOEXEC));
  return file && flock(file.get(), LOCK_EX | LOCK_NB) != 0;
}

int stop(Context& context, const DaemonOptions& options) {
  Client& client = context.controller_if_any();
  const bool ran = client.ping();
  if (ran) {
    client.post("/v1/shutdown", Json::object());
    const auto deadline = std::chrono::steady_clock::now() + stop_patience;
    const bool here = context.home().remote.empty();
    while (client.ping() ||
           (here && (client.process_id() != 0 || is_locked(context.home().lock())))) {
      if (std::chrono::steady_clock::now() > deadline)
        throw CommandError(exit_failed, "the controller has not ended",
                           "its log: " + context.home().log().string());
      std::this_thread::sleep_for(look_again);
    }
  }
  if (options.format.json)
    print_json(context.out, {{"running", false}, {"stopped", ran}});
  else if (ran)
    context.out << "stopped; running attempts continue, and the next controller takes them over\n";
  else
    context.out << "no controller runs\n";
  return exit_ok;
}

/// The last `lines` lines.
std::string tail(std::ifstream& in, std::int64_t lines) {
  const std::string text(std::istreambuf_iterator<char>(in), {});
  std::size_t at = text.size();
  if (at > 0 && text.back() == '\n') --at;
  while (lines-- > 0 && at != std::string::npos && at > 0)
    at = text.rfind('\n', at - 1);
  if (at == std::string::npos || at == 0) return text;
  return text.substr(at + 1);
}

int logs(Context& context, const DaemonOptions& options) {
  if (!context.home().remote.empty())
    throw CommandError(exit_failed, "the controller's log is on its own machine",
                       "there: thalweg daemon logs, or journalctl -u thalwegd-site");
  const auto file = context.home().log();
  std::ifstream in(file, std::ios::binary);
  if (!in) throw CommandError(exit_not_found, "there is no controller log yet: " + file.string());
  context.out << tail(in, options.lines) << std::flush;
  while (options.follow && context.out) {
    in.clear();
    const std::string more(std::istreambuf_iterator<char>(in), {});
    context.out << more << std::flush;
    std::this_thread::sleep_for(look_again);
  }
  return exit_ok;
}

}  // namespace

Action make_daemon(Arguments& arguments) {
  auto options = std::make_shared<DaemonOptions>();
  Argument& what = arguments.positional("WHAT", options->what, "what to do");
  what.choices = {"start", "stop", "status", "logs"};
  what.completes = Completes::choices;
  arguments.option("-n,--lines", "N", options->lines, "logs: the last N lines (default: 50)");
  arguments.flag("-f,--follow", options->follow, "logs: keep printing as it grows");
  arguments.flag("--json", options->format.json, "print as JSON");
  return [options](Context& context) {
    if (options->what == "start") return start(context, *options);
    if (options->what == "stop") return stop(context, *options);
    if (options->what == "status") return status(context, *options);
    return logs(context, *options);
  };
}

}  // namespace thalweg::cli
