#include "engine/sync/device/gpu/exchange/driven.h"

#include <utility>

namespace thalweg::engine {
void DrivenExchange::set_parts(std::vector<GradientPart> parts) {
  parts_ = std::move(parts);
  for (GradientPart& part : parts_)
    part.marks = 1;
  reducer_->set_parts(parts_);
}

void DrivenExchange::begin(std::int64_t step, bool stop, std::optional<std::size_t> slot) {
  step_ = step;
  slot_ = slot;
  const Stopwatch whole;
  reducer_->begin();
  prepare(stop);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    wait_until_ready(part, stop);
    reducer_->mark(part);
  }
  reducer_->hurry();
  computed_ms_ = whole.ms();
}

void DrivenExchange::end() {
  const Stopwatch waiting;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    reducer_->wait(part);
    arrived(part);
  }
  const double waited_ms = waiting.ms();
  if (!slot_) return;
  std::vector<double> own;
  for (const PartTime& time : reducer_->times())
    own.push_back(time.duration());
  times_[*slot_] = {waited_ms, split_times(reducer_->times(), own, computed_ms_, waited_ms)};
}

}  // namespace thalweg::engine
