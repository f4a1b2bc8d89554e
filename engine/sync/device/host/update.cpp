#include "engine/sync/device/host/update.h"

#include <algorithm>

#include "engine/sync/clip.h"

namespace thalweg::engine {
namespace {

// Parts fit a core's cache; fewer floats than the second are updated sooner than a thread wakes.
constexpr std::size_t kPart = std::size_t{1} << 16;
constexpr std::size_t kWorthWaking = std::size_t{1} << 15;

}  // namespace

void HostUpdate::add(int parameter, const std::optional<comm::Group::Segment>& within) {
  const ParameterInfo& info = p_.model.parameters()[static_cast<std::size_t>(parameter)];
  const std::size_t part = p_.optimizer.elementwise(parameter) ? kPart : info.count;
  std::size_t begin = info.offset, end = info.offset + info.count;
  if (within) {
    begin = std::max(begin, within->begin);
    end = std::min(end, within->begin + within->count);
  }
  for (std::size_t at = begin; at < end; at += part)
    segments_.push_back({parameter, at, std::min(part, end - at)});
  if (begin < end) floats_ += end - begin;
}

void HostUpdate::run(const StepContext& context, const OptimizerMemory<float>& memory, double cut) {
  const auto one = [&](const Segment& segment) {
    if (cut > 0) clip_values(memory.g + segment.offset, segment.count, cut);
    p_.optimizer.update(context, segment, memory);
  };
  if (p_.executors.threads() > 1 && floats_ > kWorthWaking)
    p_.executors.run(static_cast<int>(segments_.size()),
                     [&](int task, Executor&) { one(segments_[static_cast<std::size_t>(task)]); });
  else
    std::for_each(segments_.begin(), segments_.end(), one);
  segments_.clear();
  floats_ = 0;
}

}  // namespace thalweg::engine
