#include "daemon/controller/fault.h"

#include <signal.h>

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "jobspec/value.h"

namespace thalweg::daemon::fault {

namespace {

std::function<void(std::string_view)>& handler() {
  static std::function<void(std::string_view)> current;
  return current;
}

}  // namespace

const std::vector<Point>& points() {
  static const std::vector<Point> all = {
      {"in_submission", "a sweep and its trials are written but not committed"},
      {"after_submission", "a sweep is committed, its sender has no answer yet"},
      {"in_import", "imported runs are written but not committed"},
      {"after_import", "imported runs are committed, their sender has no answer yet"},
      {"in_extension", "added trials are written but not committed"},
      {"after_extension", "added trials are committed, who asked for them has no answer yet"},
      {"in_look", "what a look at seeds found is written but not committed"},
      {"after_look", "`seed_look` is committed, none of its trials has started"},
      {"before_choice", "a configuration is chosen by results, nothing is written"},
      {"after_choice", "`chosen` is committed"},
      {"before_intent", "an attempt is chosen, nothing is written"},
      {"after_intent", "`launching` is committed"},
      {"before_submit", "the attempt folder is written, the backend not yet asked"},
      {"after_submit", "the backend holds it, its handle is not committed"},
      {"after_recorded", "the handle is committed, the attempt not released"},
      {"after_release", "the backend was told to run it, `released` is not committed"},
      {"after_released", "`released` is committed"},
      {"after_running", "`running` is committed"},
      {"on_disk", "a run folder is about to be looked at or written"},
      {"in_ingest", "journal lines are written but not committed"},
      {"first_metrics", "the first metrics of an attempt are committed"},
      {"end_record_seen", "the engine's end record was read, `ended` is not committed"},
      {"in_ended", "`ended` is written but not committed"},
      {"after_ended", "`ended` is committed, what follows from it is not decided"},
      {"after_trial_ended", "`trial_ended` is committed"},
      {"in_removal", "an attempt's folder of a sweep that is removed is gone"},
      {"before_removed", "all folders of a sweep that is removed are gone, its rows are there"},
      {"in_pruning", "of one trial of a sweep that has ended the checkpoints are gone"},
      {"in_thinning", "an attempt's curves are thinned, `pruned` is not committed"},
      {"before_cancel", "a cancel request is committed, the backend not asked"},
      {"after_cancel", "the backend was asked to end an attempt"},
      {"after_sweep_ended", "`sweep_ended` is committed"},
  };
  return all;
}

void pass(std::string_view point) {
  if (handler()) handler()(point);
}

void set_handler(std::function<void(std::string_view)> next) {
  handler() = std::move(next);
}

void arm_from_environment() {
  const char* text = std::getenv("THALWEG_FAULT");
  if (text == nullptr) return;
  const std::string wanted = text;
  unsetenv("THALWEG_FAULT");
  const auto colon = wanted.find(':');
  const std::string name = wanted.substr(0, colon);
  int count = 1;
  if (colon != std::string::npos)
    std::from_chars(wanted.data() + colon + 1, wanted.data() + wanted.size(), count);
  std::vector<std::string> names;
  for (const Point& point : points())
    names.emplace_back(point.name);
  for (const auto& known : names) {
    if (known != name) continue;
    set_handler([name, count](std::string_view point) mutable {
      if (point == name && --count == 0) raise(SIGKILL);
    });
    return;
  }
  throw std::invalid_argument("THALWEG_FAULT: there is no point '" + name + "', the nearest is '" +
                              jobspec::nearest(name, names) + "'");
}

}  // namespace thalweg::daemon::fault
