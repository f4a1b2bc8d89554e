// CUDA's words for kernels on the host, so that a test can run the text of a kernel without a GPU:
// include this first, then the kernel's header. Every thread of a block is a fiber; they run in an
// order that is random anew between any two barriers, so that a missing barrier shows as a wrong
// result. Blocks run one after another, shared memory is left as the block before left it.
//
// Only for files that the C++ compiler compiles, one to a program: shared memory is static.
#pragma once

#include <ucontext.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

#define __global__ inline
#define __device__ inline
#define __shared__ static
#define __launch_bounds__(...)

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace thalweg::test {

/// The threads of one block.
class CudaBlock {
 public:
  CudaBlock(std::size_t threads, unsigned seed) : random_(seed), fibers_(threads) {
    for (Fiber& fiber : fibers_)
      fiber.stack = std::make_unique<std::byte[]>(kStack);
  }

  /// `work` once by every thread; throws std::logic_error where threads wait for one that has left.
  void run(const std::function<void()>& work) {
    work_ = &work;
    current_block = this;
    for (Fiber& fiber : fibers_) {
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStack;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, enter, 0);
      fiber.state = State::ready;
    }
    while (run_ready())
      release();
    for (const Fiber& fiber : fibers_)
      if (fiber.state != State::done)
        throw std::logic_error("a thread waits at a barrier that others never reach");
  }

  void wait_for_block() { wait(State::at_block); }
  void wait_for_warp() { wait(State::at_warp); }
  /// What lane `from` of this warp brought.
  template <class T>
  T exchange(T mine, unsigned from) {
    static_assert(sizeof(T) <= sizeof(Fiber::brought));
    std::memcpy(fibers_[running_].brought, &mine, sizeof(T));
    wait_for_warp();
    T theirs;
    std::memcpy(&theirs, fibers_.at(running_ / 32 * 32 + from).brought, sizeof(T));
    wait_for_warp();
    return theirs;
  }
  unsigned lane() const { return static_cast<unsigned>(running_ % 32); }

  static inline CudaBlock* current_block = nullptr;

 private:
  static constexpr std::size_t kStack = 64 << 10;
  enum class State { ready, at_block, at_warp, done };
  struct Fiber {
    ucontext_t context;
    std::unique_ptr<std::byte[]> stack;
    State state = State::ready;
    unsigned char brought[16];
  };

  static void enter() {
    (*current_block->work_)();
    current_block->fibers_[current_block->running_].state = State::done;
  }
  void wait(State state) {
    const std::size_t me = running_;
    fibers_[me].state = state;
    swapcontext(&fibers_[me].context, &scheduler_);
  }
  /// False where there was none.
  bool run_ready() {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < fibers_.size(); ++i)
      if (fibers_[i].state == State::ready) ready.push_back(i);
    std::shuffle(ready.begin(), ready.end(), random_);
    for (const std::size_t i : ready) {
      running_ = i;
      const auto n = static_cast<unsigned>(i);
      threadIdx = {n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y};
      swapcontext(&scheduler_, &fibers_[i].context);
    }
    return !ready.empty();
  }
  void release() {
    const auto all = [&](std::size_t first, std::size_t end, State state) {
      return std::all_of(fibers_.begin() + static_cast<std::ptrdiff_t>(first),
                         fibers_.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const Fiber& fiber) { return fiber.state == state; });
    };
    if (all(0, fibers_.size(), State::at_block))
      for (Fiber& fiber : fibers_)
        fiber.state = State::ready;
    for (std::size_t warp = 0; warp < fibers_.size(); warp += 32) {
      const std::size_t end = std::min(warp + 32, fibers_.size());
      if (all(warp, end, State::at_warp))
        for (std::size_t i = warp; i < end; ++i)
          fibers_[i].state = State::ready;
    }
  }

  std::mt19937 random_;
  std::vector<Fiber> fibers_;
  ucontext_t scheduler_{};
  const std::function<void()>* work_ = nullptr;
  std::size_t running_ = 0;
};

/// kernel<<<grid, block>>>(arguments...)
template <class... Parameters, class... Arguments>
void run_kernel(void (*kernel)(Parameters...), dim3 grid, dim3 block,
                const Arguments&... arguments) {
  gridDim = grid;
  blockDim = block;
  CudaBlock threads(std::size_t{block.x} * block.y * block.z, 7);
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        threads.run([&] { kernel(arguments...); });
      }
}

}  // namespace thalweg::test

inline void __syncthreads() {
  thalweg::test::CudaBlock::current_block->wait_for_block();
}
template <class T>
T __shfl_xor_sync(unsigned, T mine, unsigned other) {
  auto& block = *thalweg::test::CudaBlock::current_block;
  return block.exchange(mine, block.lane() ^ other);
}
