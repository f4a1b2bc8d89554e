// thalweg reproduce: trials trained again on this machine, and each reported value compared with
// the recorded one.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>

#include "base/temporary_folder.h"
#include "cli/commands/capsule.h"
#include "cli/commands/common.h"
#include "cli/commands/reproduction.h"
#include "cli/commands/table.h"
#include "cli/output/format.h"
#include "cli/output/text.h"
#include "cli/signals.h"

namespace thalweg::cli {
namespace {

namespace fs = std::filesystem;

struct ReproduceOptions {
  std::vector<std::string> what;
  std::int64_t ranks = 0;
  std::string folder;
  Format format;
};

/// Of a sweep, a trial that cannot be reproduced is named and skipped.
struct Skipped {
  std::string id, reason;
};

struct Chosen {
  std::vector<Capsule> capsules;
  std::vector<Skipped> skipped;
};

void add_recorded(Context& context, const std::string& word, Chosen& chosen) {
  const jobspec::Id id = find_id(context, word);
  for (const SweepExport& from : choose_exports(context, {id.to_string()}, {}, false))
    each_exported(context, from, [&](const auto& trial, const auto& curves) {
      try {
        chosen.capsules.push_back(capsule_of(context, from, trial, curves));
      } catch (const CommandError& error) {
        if (!is_sweep(id)) throw;
        chosen.skipped.push_back({trial.id, error.what()});
      }
    });
}

Chosen choose(Context& context, const std::vector<std::string>& words) {
  Chosen chosen;
  for (const std::string& word : words) {
    std::error_code unreadable;
    if (fs::is_regular_file(word, unreadable)) {
      for (Capsule& capsule : read_capsules(word))
        chosen.capsules.push_back(std::move(capsule));
    } else {
      add_recorded(context, word, chosen);
    }
  }
  return chosen;
}

std::string shown(double value) {
  return fmt::format("{}", value);  // all digits: they may differ in the last one
}

std::string difference_text(const PointDifference& difference) {
  return fmt::format("step {}, {}: {} recorded, {}", difference.step, printable(difference.metric),
                     shown(difference.recorded),
                     difference.here ? shown(*difference.here) + " here" : "not reported here");
}

void print_result(Context& context, const Reproduction& result) {
  const std::string on = count_of(result.ranks, "rank");
  const auto line = [&](Tint tint, const std::string& word, const std::string& text) {
    context.out << result.id << ' ' << context.palette(tint, word) << ": " << text << '\n';
  };
  if (!result.failure.empty()) {
    line(Tint::red, "not reproduced", result.failure);
  } else if (result.difference) {
    line(Tint::red, "different", "on " + on + " from " + difference_text(*result.difference));
    if (result.equal > 0)
      context.out << "  equal before it: " << count_of(result.equal, "value") << '\n';
  } else if (result.array) {
    line(Tint::red, "different",
         fmt::format("on {} all {} values are equal, but the weights of step {} differ from array "
                     "{} on",
                     on, result.points, *result.weights_step, printable(*result.array)));
  } else {
    std::string text = fmt::format("on {} all {} values up to step {} have the same bits", on,
                                   result.points, result.last_step);
    text += result.weights_step
                ? fmt::format(", and the weights of step {} ({})", *result.weights_step,
                              count_of(result.arrays, "array"))
                : "; no checkpoint of one step to compare weights";
    line(Tint::green, "reproduced", text);
  }
  if (result.reproduced()) return;
  for (const ChangedFact& fact : result.changed)
    context.out << "  not as recorded: " << fact.what << ' ' << printable(fact.here) << ", was "
                << (fact.recorded.empty() ? "not there" : printable(fact.recorded)) << '\n';
}

Json json_of(const Reproduction& result) {
  Json json{{"id", result.id},
            {"reproduced", result.reproduced()},
            {"ranks", result.ranks},
            {"values", result.points},
            {"equal", result.equal},
            {"last_step", result.last_step},
            {"changed", daemon::api::to_json(result.changed)}};
  if (result.weights_step)
    json["weights"] = {{"step", *result.weights_step}, {"arrays", result.arrays}};
  if (result.array) json["weights"]["difference"] = *result.array;
  if (const auto& difference = result.difference) {
    json["difference"] = {{"step", difference->step},
                          {"metric", difference->metric},
                          {"recorded", daemon::api::fields::number(difference->recorded)}};
    if (difference->here)
      json["difference"]["here"] = daemon::api::fields::number(*difference->here);
  }
  if (!result.failure.empty()) json["failure"] = result.failure;
  return json;
}

/// One line that is written over, where a person looks.
class ProgressLine {
 public:
  explicit ProgressLine(Context& context) : context_(context) {}
  ~ProgressLine() { clear(); }

  void show(const std::string& text) {
    const auto now = std::chrono::steady_clock::now();
    if (!context_.error_terminal.moves || now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    drawn_ = true;
    context_.err << "\r\x1b[K" << truncate(text, context_.error_terminal.size().columns - 1)
                 << std::flush;
  }
  void clear() {
    if (drawn_) context_.err << "\r\x1b[K" << std::flush;
    drawn_ = false;
  }

 private:
  Context& context_;
  std::chrono::steady_clock::time_point last_{};
  bool drawn_ = false;
};

/// For one trial's run.
class RunFolder {
 public:
  RunFolder(const std::string& wanted, const std::string& id) {
    if (wanted.empty())
      path_ = aside_.emplace("thalweg-reproduce").path();
    else
      path_ = fs::path(wanted) / id;
  }
  const fs::path& path() const { return path_; }

 private:
  std::optional<TemporaryFolder> aside_;
  fs::path path_;
};

int reproduce(Context& context, const ReproduceOptions& options) {
  constexpr int max_ranks = 512;  // thalweg-launch -n
  if (options.ranks < 0 || options.ranks > max_ranks)
    throw CommandError(exit_bad_input, "--ranks: expected a number from 1 to 512");
  const Chosen chosen = choose(context, options.what);
  std::atomic<bool> interrupted{false};
  Json results = Json::array();
  std::size_t reproduced = 0;
  {
    ProgressLine progress(context);
    SignalThread signals(
        [&](int signal) {
          if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) interrupted = true;
        },
        [] {});
    for (const Capsule& capsule : chosen.capsules) {
      const RunFolder folder(options.folder, capsule.id);
      const auto steps = number_at(capsule.start, "steps");
      const Reproduction result = reproduce_trial(
          capsule,
          {static_cast<int>(options.ranks), folder.path(), [&] { return interrupted.load(); },
           [&](std::int64_t step, std::int64_t equal) {
             progress.show(fmt::format("{} ({} of {}): step {} of {:.0f}, {} values equal",
                                       capsule.id, results.size() + 1, chosen.capsules.size(), step,
                                       steps.value_or(0), equal));
           }});
      progress.clear();
      if (result.reproduced()) ++reproduced;
      results.push_back(json_of(result));
      if (options.format.json) continue;
      print_result(context, result);
      context.out.flush();
    }
  }
  if (options.format.json) {
    Json skipped = Json::array();
    for (const Skipped& each : chosen.skipped)
      skipped.push_back({{"id", each.id}, {"reason", each.reason}});
    print_json(context.out,
               {{"trials", results}, {"reproduced", reproduced}, {"skipped", skipped}});
  } else {
    for (const Skipped& each : chosen.skipped)
      context.out << each.id << " skipped: " << each.reason << '\n';
    if (results.size() + chosen.skipped.size() > 1)
      context.out << reproduced << " of "
                  << count_of(static_cast<long long>(results.size()), "trial") << " reproduced\n";
    if (reproduced < results.size() && options.folder.empty())
      print_next(context, {{"thalweg reproduce " + join(options.what, " ") + " --folder FOLDER",
                            "keeps logs, journals and checkpoints of the runs here"}});
  }
  return !results.empty() && reproduced == results.size() ? exit_ok : exit_failed;
}

}  // namespace

Action make_reproduce(Arguments& arguments) {
  auto options = std::make_shared<ReproduceOptions>();
  arguments
      .positional("TRIAL", options->what, "trials, sweeps, or files of `export --format capsule`")
      .completes = Completes::id;
  arguments.option("-n,--ranks", "N", options->ranks,
                   "ranks on this machine (default: as many as were recorded)");
  arguments
      .option("--folder", "FOLDER", options->folder,
              "keep the runs in FOLDER/TRIAL (default: removed)")
      .completes = Completes::file;
  add_json(arguments, options->format);
  return [options](Context& context) { return reproduce(context, *options); };
}

}  // namespace thalweg::cli
