// The rule sees validation only: what is tested must not steer training. Its state is in
// checkpoints, so that a run that was interrupted ends at the same step as one that was not.
#include "engine/train/stop_rule.h"

#include <stdexcept>
#include <utility>

#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine {
namespace {

using jobspec::Value;

std::string text_of(double number) {
  return Value(number).to_text();
}

}  // namespace

jobspec::Section stop_section() {
  jobspec::Section section;
  section.path = "stop";
  section.doc = "Early stopping, by the sweep's metric (of validation)";
  section.options = {
      jobspec::choice_option("at", {"end", "target"},
                             "end: after the last step; target: after the first validation whose "
                             "value reaches metric.target (of several, the hardest)"),
      jobspec::int_option("patience", 0, 0, 1'000'000'000,
                          "validations in a row without a better value after which training stops; "
                          "0 = any number"),
      jobspec::float_option("min_delta", 0.0, 0, jobspec::no_limit,
                            "by how much a value must be better to count as better for patience")};
  return section;
}

StopRule::StopRule(const Value& tree, const jobspec::Metric& metric) : metric_(metric) {
  const jobspec::Options options(tree, stop_section().options, "stop.");
  at_target_ = options.text("at") == "target";
  patience_ = options.integer("patience");
  min_delta_ = options.real("min_delta");
  target_ = metric_.target();
  if (at_target_ && !target_)
    throw std::invalid_argument("stop.at: target needs a target; write metric: {name: " +
                                metric_.name + ", target: 0.1} at the top level");
}

bool StopRule::better(double value, double than) const {
  return metric_.goal == jobspec::Goal::maximize ? value > than + min_delta_
                                                 : value < than - min_delta_;
}

bool StopRule::reached() const {
  if (!at_target_ || jobspec::has_diverged(newest_)) return false;
  return metric_.goal == jobspec::Goal::maximize ? newest_ >= *target_ : newest_ <= *target_;
}

void StopRule::observe(std::int64_t step, const std::string& name, double value) {
  if (idle() || name != metric_.name) return;
  newest_ = value;
  step_ = step;
  const bool first = !std::exchange(any_, true);
  if (first || jobspec::has_diverged(best_) ||
      (!jobspec::has_diverged(value) && better(value, best_))) {
    best_ = value;
    since_ = 0;
  } else {
    ++since_;
  }
  decide();
}

void StopRule::decide() {
  reason_.clear();
  if (!any_) return;
  const std::string at = " at step " + std::to_string(step_);
  if (reached()) {
    reason_ =
        metric_.name + " " + text_of(newest_) + " reached the target " + text_of(*target_) + at;
  } else if (patience_ > 0 && since_ >= patience_) {
    reason_ = metric_.name + " has not become better than " + text_of(best_) + " in " +
              std::to_string(since_) + " validations" + at;
  }
}

std::vector<double> StopRule::state() const {
  if (!any_) return {};
  return {best_, newest_, static_cast<double>(step_), static_cast<double>(since_)};
}

void StopRule::restore(const std::vector<double>& state) {
  any_ = !state.empty();
  if (any_ && state.size() != 4)
    throw std::invalid_argument("the stop rule keeps 4 numbers, not " +
                                std::to_string(state.size()));
  if (any_) {
    best_ = state[0];
    newest_ = state[1];
    step_ = static_cast<std::int64_t>(state[2]);
    since_ = static_cast<std::int64_t>(state[3]);
  }
  decide();
}

}  // namespace thalweg::engine
