#include "engine/comm/algorithms/scratch.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>
#include <utility>

namespace thalweg::engine::comm {
namespace {

constexpr std::size_t kSmallest = 4096;
constexpr std::size_t kHugePage = 2U << 20U;

}  // namespace

void Scratch::Free::operator()(std::byte* block) const {
  std::free(block);
}

Scratch::Lease::Lease(Lease&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), block_(std::move(other.block_)) {}

Scratch::Lease& Scratch::Lease::operator=(Lease&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(block_, other.block_);
  return *this;
}

Scratch::Lease::~Lease() {
  if (!owner_ || !block_.data) return;
  auto& idle = owner_->idle_;
  const auto place = std::find_if(idle.begin(), idle.end(),
                                  [&](const Block& b) { return b.bytes >= block_.bytes; });
  idle.insert(place, std::move(block_));
}

Scratch::Lease Scratch::lease(std::size_t bytes) {
  const auto fits =
      std::find_if(idle_.begin(), idle_.end(), [&](const Block& b) { return b.bytes >= bytes; });
  if (fits != idle_.end()) {
    Lease lease(this, std::move(*fits));
    idle_.erase(fits);
    return lease;
  }
  // Powers of two: few different sizes, so that blocks are found again.
  Block block;
  block.bytes = std::bit_ceil(std::max(bytes, kSmallest));
  const std::size_t alignment = block.bytes >= kHugePage ? kHugePage : kSmallest;
  block.data.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, block.bytes)));
  if (!block.data) throw std::bad_alloc();
  if (block.bytes >= kHugePage) ::madvise(block.data.get(), block.bytes, MADV_HUGEPAGE);
  return {this, std::move(block)};
}

}  // namespace thalweg::engine::comm
