#include "engine/sync/exchange/driven.h"

#include <chrono>
#include <utility>

namespace thalweg::engine {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

void DrivenExchange::set_parts(std::vector<GradientPart> parts) {
  parts_ = std::move(parts);
  for (GradientPart& part : parts_)
    part.marks = 1;
  reducer_->set_parts(parts_);
}

void DrivenExchange::run(std::int64_t step, bool stop, std::optional<std::size_t> slot) {
  step_ = step;
  const Clock::time_point begin = Clock::now();
  reducer_->begin();
  prepare(stop);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    wait_until_ready(part, stop);
    reducer_->mark(part);
  }
  reducer_->hurry();
  const double computed_ms = ms_since(begin);
  const Clock::time_point waiting = Clock::now();
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    reducer_->wait(part);
    arrived(part);
  }
  const double waited_ms = ms_since(waiting);
  if (!slot) return;
  std::vector<double> own;
  for (const PartTime& time : reducer_->times())
    own.push_back(time.duration());
  times_[*slot] = {waited_ms, split_times(reducer_->times(), own, computed_ms, waited_ms)};
}

}  // namespace thalweg::engine
