#include "engine/perf/program.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "engine/comm/wireup/wireup.h"
#include "engine/perf/report.h"

namespace thalweg::engine::perf {
namespace {

std::atomic<bool> stop_requested{false};
std::atomic<std::time_t> first_request{0};
static_assert(std::atomic<std::time_t>::is_always_lock_free);

/// Only what signal handlers may do. The launcher passes on what a terminal sends anyhow, so the
/// same request may come twice at once.
extern "C" void request_stop(int signal) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::time_t none = 0;
  if (!first_request.compare_exchange_strong(none, now.tv_sec) && now.tv_sec > none + 1)
    _exit(128 + signal);
  stop_requested = true;
}

void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = request_stop;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

int report_error(const comm::World& world, const std::string& what, int code) {
  std::fprintf(stderr, "thalweg-perf: rank %d on %s: %s\n", world.rank, world.node.c_str(),
               what.c_str());
  return code;
}

/// A file of rank 0's, opened before anything is measured.
class Output {
 public:
  explicit Output(const std::filesystem::path& path) : path_(path) {
    if (!path_.empty()) file_.open(path_);
  }
  bool good() const { return path_.empty() || file_.good(); }
  std::string trouble() const {
    return "cannot write " + path_.string() + ": " + std::strerror(errno);
  }
  void write(const std::string& text) {
    if (!path_.empty()) file_ << text << std::flush;
  }

 private:
  std::filesystem::path path_;
  std::ofstream file_;
};

/// What --algorithm means for a subject on these ranks.
std::vector<std::string> choices_for(const comm::Group& group, const Subject& subject,
                                     const Options& options) {
  if (!subject.collective) return {"auto"};
  if (options.algorithms.front() != "all") return options.algorithms;
  std::vector<std::string> names;
  for (const auto& row : comm::rows_of(*subject.collective)) {
    if (group.layout().allows(row.needs)) names.emplace_back(row.name);
  }
  return names;
}

/// False where a subject cannot be measured and nobody insists on it.
bool possible(const comm::Group& group, const Subject& subject, const Options& options) {
  const std::string trouble = subject.trouble(group, options);
  if (trouble.empty()) return true;
  if (!options.everything) throw UsageError(std::string(subject.name) + ": " + trouble);
  if (group.rank() == 0) std::printf("# %s is left out: %s\n", subject.name, trouble.c_str());
  return false;
}

struct Outcome {
  std::vector<Result> results;
  bool complete = true;
};

/// Every subject, size by size, the algorithms of a size one after the other.
Outcome measure_all(comm::Group& group, const Options& options) {
  Outcome outcome;
  const bool talks = group.rank() == 0;
  for (const auto& name : options.collectives) {
    const Subject& subject = find_subject(name);
    if (!possible(group, subject, options)) continue;
    const auto sizes = subject.sized ? options.sizes() : std::vector<std::size_t>{0};
    for (const std::size_t size : sizes) {
      for (const auto& choice : choices_for(group, subject, options)) {
        const auto result = measure(group, subject, choice, size, options, stop_requested);
        if (!result) {
          outcome.complete = false;
          return outcome;
        }
        outcome.results.push_back(*result);
        if (talks) std::fputs(table_line(*result).c_str(), stdout);
        if (talks) std::fflush(stdout);
      }
    }
  }
  return outcome;
}

bool all_right(const std::vector<Result>& results) {
  for (const auto& result : results) {
    if (result.wrong.value_or(0) > 0) return false;
  }
  return true;
}

/// On rank 0; true where everything could be written.
bool report(const comm::World& world, const Setting& setting, const Outcome& outcome, Output& json,
            Output& svg) {
  if (!outcome.complete) std::puts("# stopped on request");
  if (setting.options.plot) std::fputs(to_text_plot(outcome.results).c_str(), stdout);
  std::fflush(stdout);
  json.write(to_json(setting, outcome.results, outcome.complete));
  svg.write(to_svg(setting, outcome.results));
  for (const Output* file : {&json, &svg}) {
    if (!file->good()) report_error(world, file->trouble(), kFailed);
  }
  return json.good() && svg.good();
}

int measure_and_report(comm::Group& group, const comm::World& world, const Options& options) {
  const bool talks = world.rank == 0;
  Output json(talks ? options.json : ""), svg(talks ? options.svg : "");
  for (const Output* file : {&json, &svg}) {
    if (!file->good()) report_error(world, file->trouble(), kFailed);
  }
  if (any_rank(group, !json.good() || !svg.good())) return kFailed;

  const Setting setting = setting_of(group, options);
  if (talks) std::fputs(table_head(setting).c_str(), stdout);
  const Outcome outcome = measure_all(group, options);
  const bool written = !talks || report(world, setting, outcome, json, svg);
  if (any_rank(group, !written)) return kFailed;
  if (!all_right(outcome.results)) return kFailed;
  return outcome.complete ? 0 : kStopped;
}

}  // namespace

int run(const Options& options) {
  stop_on_signals();
  comm::World world;
  try {
    const auto wireup = comm::Wireup::connect();
    world = wireup->world();
    int code = 0;
    {
      comm::Group group(wireup->transport(), {.stall_timeout = options.stall_timeout});
      try {
        code = measure_and_report(group, world, options);
      } catch (const std::invalid_argument& error) {
        // An algorithm that these ranks cannot run: the same on all of them.
        if (world.rank == 0) std::fprintf(stderr, "thalweg-perf: %s\n", error.what());
        code = kUsage;
      }
    }
    wireup->finalize();
    return code;
  } catch (const std::exception& error) {
    report_error(world, error.what(), kFailed);
    std::fflush(nullptr);
    _exit(kFailed);  // peers may be gone: no destructor may wait for them
  }
}

}  // namespace thalweg::engine::perf
