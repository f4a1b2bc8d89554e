// What is switched between fibers: the processor's registers and stack, and the exceptions that are
// being handled, which the C++ runtime keeps for each thread.
#pragma once

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cxxabi.h>
#include <cstddef>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace thalweg::engine::simulate {

/// Memory that takes what was touched of it, with a page below that ends the process where the
/// stack overflows.
class Stack {
 public:
  explicit Stack(std::size_t bytes)
      : bytes_(bytes), page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* const pages = mmap(nullptr, bytes_ + page_, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (pages == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<char*>(pages);
    if (mprotect(data(), bytes_, PROT_READ | PROT_WRITE) == 0) return;
    munmap(memory_, bytes_ + page_);
    throw std::bad_alloc();
  }
  ~Stack() { munmap(memory_, bytes_ + page_); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  char* data() const { return memory_ + page_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_, page_;
  char* memory_ = nullptr;
};

struct FiberContext {
  /// As the C++ ABI for Itanium lays out __cxa_eh_globals (section 2.2.2).
  struct Handled {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };

  ucontext_t registers{};
  Handled handled{};
  const void* stack = nullptr;  ///< lowest address
  std::size_t stack_bytes = 0;
#if defined(__SANITIZE_ADDRESS__)
  void* fake_stack = nullptr;
#endif

  static Handled& handled_now() {
    return *reinterpret_cast<Handled*>(abi::__cxa_get_globals());
  }
};

/// Goes on there; returns when somebody switches back. `ends`: nobody will.
inline void switch_context(FiberContext& from, FiberContext& to, bool ends = false) {
  from.handled = FiberContext::handled_now();
  FiberContext::handled_now() = to.handled;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_start_switch_fiber(ends ? nullptr : &from.fake_stack, to.stack, to.stack_bytes);
#else
  (void)ends;
#endif
  swapcontext(&from.registers, &to.registers);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

/// The first thing that a fiber does; where it was entered from is told to `home`.
inline void entered(FiberContext& home) {
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &home.stack, &home.stack_bytes);
#else
  (void)home;
#endif
}

}  // namespace thalweg::engine::simulate
