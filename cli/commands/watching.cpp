#include "cli/commands/watching.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cli/output/watcher.h"
#include "cli/signals.h"
#include "daemon/api/client.h"

namespace thalweg::cli {
namespace {

bool trial_is_over(const std::string& state) {
  return state == "finished" || state == "failed" || state == "cancelled";
}

/// Keeps only the trial with this id, where one was asked for.
Json narrowed(Json snapshot, const jobspec::Id& id) {
  if (is_sweep(id)) return snapshot;
  Json kept = Json::array();
  for (Json& trial : snapshot["trials"])
    if (text_at(trial, "id") == id.to_string()) kept.push_back(std::move(trial));
  snapshot["trials"] = std::move(kept);
  return snapshot;
}

class Session {
 public:
  Session(Context& context, const WatchOptions& options)
      : context_(context),
        options_(options),
        out_(options.to_errors ? context.err : context.out),
        watcher_(make_watcher(options.to_errors ? context.error_terminal : context.terminal, out_)),
        sweep_(jobspec::Id{options.id.sweep, 0, 0}.to_string()) {}

  WatchResult run() {
    daemon::api::Client& client = context_.controller();
    if (!is_sweep(options_.id)) client.get(path_of(options_.id));  // says so where it is not there
    out_.flush();
    {
      SignalThread signals([this](int signal) { on_signal(signal); }, [this] { on_tick(); });
      client.stream(
          "/v1/watch?id=" + sweep_, [this](const Json& event) { return on_event(event); },
          [this](const std::string& news) { on_news(news); });
    }
    return {std::move(last_), interrupted_};
  }

 private:
  bool on_event(const Json& event) {
    const std::lock_guard lock(mutex_);
    last_ = narrowed(event, options_.id);
    if (options_.json_lines) {
      print_json_line(out_, last_);
      out_.flush();
    } else {
      const SweepView view = SweepView::from_json(last_);
      watcher_->update(is_sweep(options_.id) ? view : view.only(options_.id.to_string()));
    }
    if (is_sweep(options_.id)) return true;  // until the controller ends the stream
    const Json& trials = list_at(last_, "trials");
    return !trials.empty() && !trial_is_over(text_at(trials[0], "state"));
  }

  void on_news(const std::string& news) {
    const std::lock_guard lock(mutex_);
    if (!options_.json_lines) watcher_->say(news);
  }

  void on_tick() {
    const std::lock_guard lock(mutex_);
    if (!options_.json_lines) watcher_->tick();
  }

  void on_signal(int signal) {
    if (signal == SIGWINCH) return on_tick();
    const std::lock_guard lock(mutex_);
    if (signal == SIGCONT) return watcher_->resume();
    if (signal == SIGHUP) ::_exit(128 + signal);  // nobody is left to read a message
    if (signal == SIGINT && options_.cancel_on_interrupt && !interrupted_) return cancel();
    detach();
    ::_exit(128 + signal);
  }

  void cancel() {
    interrupted_ = true;
    std::string line = fmt::format(
        "Cancelling sweep {}: running attempts write a checkpoint first. Ctrl-C again leaves at "
        "once.",
        sweep_);
    try {
      daemon::api::Client(context_.home()).post("/v1/cancel", {{"id", sweep_}});
    } catch (const std::exception& error) {
      line = fmt::format("Could not cancel sweep {}: {}", sweep_, error.what());
    }
    watcher_->say(line);
  }

  void detach() {
    out_.flush();
    context_.err << fmt::format(
                        "\nLeft sweep {}: it {}.\n"
                        "  thalweg watch {}   looks at it again\n"
                        "  thalweg cancel {}  stops it\n",
                        sweep_,
                        interrupted_ ? "is being cancelled" : "continues without this window",
                        sweep_, sweep_)
                 << std::flush;
  }

  Context& context_;
  const WatchOptions& options_;
  std::ostream& out_;
  std::unique_ptr<Watcher> watcher_;
  std::string sweep_;
  std::mutex mutex_;  ///< everything below, and the watcher
  Json last_;
  bool interrupted_ = false;
};

}  // namespace

bool WatchResult::all_finished() const {
  const Json& trials = list_at(last, "trials");
  return !trials.empty() && std::all_of(trials.begin(), trials.end(), [](const Json& trial) {
    return text_at(trial, "state") == "finished";
  });
}

bool WatchResult::any_failed() const {
  const Json& trials = list_at(last, "trials");
  return std::any_of(trials.begin(), trials.end(),
                     [](const Json& trial) { return text_at(trial, "state") == "failed"; });
}

int WatchResult::exit_code() const {
  if (interrupted) return exit_interrupted;
  if (!all_finished()) return exit_failed;
  const Json& trials = list_at(last, "trials");
  const bool any_value = std::any_of(trials.begin(), trials.end(), [](const Json& trial) {
    return !member(member(trial, "progress"), "metric").is_null();
  });
  return any_value ? exit_ok : exit_failed;  // it was all for nothing
}

WatchResult watch_sweep(Context& context, const WatchOptions& options) {
  return Session(context, options).run();
}

}  // namespace thalweg::cli
