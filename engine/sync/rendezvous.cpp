#include "engine/sync/rendezvous.h"

#include <algorithm>
#include <stdexcept>

namespace thalweg::engine {

Rendezvous::Rendezvous(comm::Group& group, int shards, int local)
    : group_(group),
      shards_(shards),
      copies_(static_cast<std::size_t>(local)),
      leaves_(static_cast<std::size_t>(local)) {}

void Rendezvous::sum(int shard, float* values, std::size_t count) {
  std::unique_lock lock(mutex_);
  const auto give_up = [] { throw std::runtime_error("another shard of this step has failed"); };
  if (failed_) give_up();
  const auto place = static_cast<std::size_t>(shard);
  copies_[place].assign(values, values + count);
  leaves_[place] = copies_[place].data();
  if (++here_ < static_cast<int>(leaves_.size())) {
    const std::uint64_t mine = round_;
    changed_.wait(lock, [&] { return failed_ || round_ != mine; });
    if (round_ == mine) give_up();
  } else {
    try {
      const auto request = group_.start_shard_sum(leaves_, count, shards_, "sum between shards");
      if (request) request->wait();
    } catch (...) {
      failed_ = true;
      changed_.notify_all();
      throw;
    }
    result_.assign(leaves_[0], leaves_[0] + count);
    here_ = 0;
    ++round_;
    changed_.notify_all();
  }
  std::copy_n(result_.data(), count, values);
}

void Rendezvous::abandon() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  changed_.notify_all();
}

void Rendezvous::reset() {
  const std::lock_guard lock(mutex_);
  here_ = 0;
  failed_ = false;
}

}  // namespace thalweg::engine
