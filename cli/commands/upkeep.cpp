// thalweg rm, archive and prune: what is kept of sweeps that have ended.
#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/commands/common.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {
namespace {

namespace api = daemon::api;

constexpr const char* force_doc =
    "even if a trial that has not ended begins with these weights (init_from)";

struct UpkeepOptions {
  std::string id, keep;
  std::int64_t points = 0;
  bool yes = false, undo = false, force = false;
  Format format;
};

jobspec::Id find_sweep(Context& context, const std::string& text) {
  const jobspec::Id id = find_id(context, text);
  if (!is_sweep(id))
    throw CommandError(exit_bad_input, id.to_string() + " is no sweep",
                       "its sweep is " + std::to_string(id.sweep));
  return id;
}

/// Throws CommandError where nobody can be asked.
bool agrees(Context& context, const std::string& question) {
  if (isatty(STDIN_FILENO) == 0)
    throw CommandError(exit_bad_input, "no terminal to ask on", "--yes does it unasked");
  context.out << question << " [y/N] " << std::flush;
  std::string line;
  std::getline(std::cin, line);
  return line == "y" || line == "Y" || line == "yes";
}

Json with_force(Json body, const UpkeepOptions& options) {
  if (options.force) body["force"] = true;
  return body;
}

int rm(Context& context, const UpkeepOptions& options) {
  const jobspec::Id id = find_sweep(context, options.id);
  const Json answer = context.controller().get(path_of(id));
  const auto sweep = read_answer<api::SweepSnapshot>(answer);
  if (sweep.state == "active")
    throw CommandError(exit_failed, "sweep " + sweep.id + " has not ended",
                       "thalweg cancel " + sweep.id + " ends it");
  const Json size = context.controller().get(path_of(id) + "/size");
  const std::string what =
      fmt::format("sweep {} {}: {}, {} in run folders", sweep.id, printable(sweep.name),
                  count_of(static_cast<long long>(sweep.trials.size()), "trial"),
                  format_bytes(number_at(size, "bytes")));
  if (!options.yes) {
    context.out << what << "\nits record, curves, logs and checkpoints will be gone for good\n";
    if (!agrees(context, "remove it?")) {
      context.out << "nothing was removed\n";
      return exit_ok;
    }
  }
  Json removed = context.controller().post("/v1/remove", with_force({{"id", sweep.id}}, options));
  if (options.format.json) {
    removed["bytes"] = member(size, "bytes");
    print_json(context.out, removed);
  } else {
    context.out << what << ": is removed in the background\n";
  }
  return exit_ok;
}

int archive(Context& context, const UpkeepOptions& options) {
  const jobspec::Id id = find_sweep(context, options.id);
  const Json answer =
      context.controller().post("/v1/archive", {{"id", id.to_string()}, {"on", !options.undo}});
  if (options.format.json) {
    print_json(context.out, answer);
  } else if (options.undo) {
    context.out << "sweep " << id.to_string() << " is listed again\n";
  } else {
    context.out << "sweep " << id.to_string()
                << " is archived: thalweg ls leaves it out, nothing was removed\n";
    print_next(context, {{"thalweg prune " + id.to_string() + " --keep best", "free checkpoints"},
                         {"thalweg archive " + id.to_string() + " --undo", "list it again"}});
  }
  return exit_ok;
}

int prune(Context& context, const UpkeepOptions& options) {
  const jobspec::Id id = find_id(context, options.id);
  Json told = {{"id", id.to_string()}};
  if (options.points == 0 || !options.keep.empty()) {
    const std::string keep = options.keep.empty() ? "last" : options.keep;
    const Json answer = context.controller().post(
        "/v1/prune", with_force({{"id", id.to_string()}, {"keep", keep}}, options));
    told.update(answer);
    if (!options.format.json)
      context.out << format_bytes(number_at(answer, "freed_bytes")) << " of checkpoints of "
                  << id.to_string() << " freed (kept: " << printable(keep) << ")\n";
  }
  if (options.points > 0) {
    const Json answer = context.controller().post(
        "/v1/prune", {{"id", id.to_string()}, {"points", options.points}});
    told.update(answer);
    if (!options.format.json)
      context.out << count_of(count_at(answer, "removed_points"), "point") << " of curves of "
                  << id.to_string()
                  << " removed; those of validation and of the sweep's metric stayed\n";
  }
  if (options.format.json) print_json(context.out, told);
  return exit_ok;
}

}  // namespace

Action make_rm(Arguments& arguments) {
  auto options = std::make_shared<UpkeepOptions>();
  arguments.positional("SWEEP", options->id, "a sweep that has ended").completes = Completes::id;
  arguments.flag("-y,--yes", options->yes, "do not ask");
  arguments.flag("--force", options->force, force_doc);
  add_json(arguments, options->format);
  return [options](Context& context) { return rm(context, *options); };
}

Action make_archive(Arguments& arguments) {
  auto options = std::make_shared<UpkeepOptions>();
  arguments.positional("SWEEP", options->id, "a sweep that has ended").completes = Completes::id;
  arguments.flag("--undo", options->undo, "list it again");
  add_json(arguments, options->format);
  return [options](Context& context) { return archive(context, *options); };
}

Action make_prune(Arguments& arguments) {
  auto options = std::make_shared<UpkeepOptions>();
  arguments.positional("ID", options->id, "a sweep or a trial that has ended").completes =
      Completes::id;
  arguments.option("--keep", "WHICH", options->keep,
                   "checkpoints of each trial that stay: last, best, none, or how many of the "
                   "newest (default: last)");
  arguments.option("--points", "N", options->points,
                   "thin curves: about N points of each stay, and all of validation and the "
                   "sweep's metric; checkpoints stay unless --keep is given, too");
  arguments.flag("--force", options->force, force_doc);
  add_json(arguments, options->format);
  return [options](Context& context) { return prune(context, *options); };
}

}  // namespace thalweg::cli
