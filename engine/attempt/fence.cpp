#include "engine/attempt/fence.h"

#include <chrono>
#include <utility>

#include "engine/attempt/claim.h"

namespace thalweg::engine {
namespace {

using namespace std::chrono_literals;

// Together under the ten seconds after which the controller takes silence for an end.
constexpr auto kLook = 2s;
constexpr auto kPatience = 5s;

}  // namespace

Fence::Fence(std::filesystem::path folder, std::shared_ptr<const StopFlag> heard,
             std::function<void()> leave)
    : folder_(std::move(folder)), heard_(std::move(heard)), leave_(std::move(leave)) {
  thread_ = std::thread([this] { watch(); });
}

Fence::~Fence() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

bool Fence::given_up() {
  if (heard_->requested()) return true;
  const Standing standing = standing_of(folder_);
  gone_ = standing == Standing::gone ? gone_ + 1 : 0;
  constexpr int kSure = 2;  // a folder that is being mounted is not gone
  return standing == Standing::fenced || gone_ == kSure;
}

void Fence::watch() {
  const auto ended_within = [this](auto time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return over_; });
  };
  do {
    if (ended_within(kLook)) return;
  } while (!given_up());
  flag_.request();
  if (!ended_within(kPatience)) leave_();
}

}  // namespace thalweg::engine
