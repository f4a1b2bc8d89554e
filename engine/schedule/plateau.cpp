// plateau: times gamma where the watched metric has not become better for longer than `patience`.
// The rule of PyTorch's ReduceLROnPlateau, with lengths in steps instead of a count of validations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "engine/schedule/table.h"

namespace thalweg::engine {
namespace {

class Plateau final : public Schedule {
 public:
  struct Rule {
    std::string metric;
    double gamma, final, patience, cooldown, threshold;
    bool relative;
    bool rising;  ///< larger is better
  };
  explicit Plateau(Rule rule) : rule_(std::move(rule)) {}

  ScheduleValue at(std::int64_t) const override { return {multiplier_, {}}; }

  void observe(std::int64_t step, const std::string& metric, double value) override {
    if (metric != rule_.metric) return;
    if (rule_.rising) value = -value;
    const auto now = static_cast<double>(step);
    if (better(value)) {
      best_ = value;
      has_best_ = true;
      good_ = now;
    }
    if (now <= quiet_until_) good_ = now;
    if (now - good_ <= rule_.patience) return;
    multiplier_ = std::max(rule_.final, multiplier_ * rule_.gamma);
    quiet_until_ = now + rule_.cooldown;
    good_ = now;
  }

  std::string watched() const override { return rule_.metric; }

  std::vector<double> state() const override {
    return {multiplier_, has_best_ ? 1.0 : 0.0, best_, good_, quiet_until_};
  }
  void restore(std::span<const double> state) override {
    if (state.size() != this->state().size())
      throw std::invalid_argument("the state of schedule 'plateau' has " +
                                  std::to_string(this->state().size()) + " numbers, not " +
                                  std::to_string(state.size()));
    multiplier_ = state[0];
    has_best_ = state[1] != 0;
    best_ = state[2];
    good_ = state[3];
    quiet_until_ = state[4];
  }

 private:
  bool better(double value) const {
    if (!std::isfinite(value)) return false;
    if (!has_best_) return true;
    return value < best_ - rule_.threshold * (rule_.relative ? std::abs(best_) : 1.0);
  }

  Rule rule_;
  double multiplier_ = 1;
  bool has_best_ = false;
  double best_ = 0;
  double good_ = 0;  ///< step since which waiting counts
  double quiet_until_ = 0;
};

}  // namespace

DecayEntry plateau() {
  std::vector<jobspec::Option> options{
      string_option("metric", "val/loss",
                    "validation metric that must become better: val/loss, val/error, ..."),
      choice_option("goal", {"minimize", "maximize"}, "which way is better")};
  for (jobspec::Option& patience :
       span_options("patience", "how long to wait for it; ten epochs if not set"))
    options.push_back(std::move(patience));
  for (jobspec::Option& cooldown :
       span_options("cooldown", "after a drop, time that does not count; none if not set"))
    options.push_back(std::move(cooldown));
  options.push_back(float_option("gamma", 0.1, 0, 1, "factor of each drop"));
  options.push_back(float_option("threshold", 1e-4, 0, 1, "smaller progress is none"));
  options.push_back(choice_option("threshold_mode", {"relative", "absolute"}, "of the threshold"));
  options.push_back(float_option("final", 0.0, 0, 1, "no drop goes below this share"));
  return {"plateau", "times gamma where validation has stopped becoming better", std::move(options),
          [](const ScheduleOptions& o) -> std::unique_ptr<Schedule> {
            constexpr double kPatienceEpochs = 10;
            return std::make_unique<Plateau>(Plateau::Rule{
                o.text("metric"), o.real("gamma"), o.real("final"),
                o.steps("patience", kPatienceEpochs * o.epoch()), o.steps("cooldown", 0),
                o.real("threshold"), o.text("threshold_mode") == "relative",
                o.text("goal") == "maximize"});
          }};
}

}  // namespace thalweg::engine
