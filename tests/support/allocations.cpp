#include "tests/support/allocations.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {

std::atomic<bool> counting{false};
std::atomic<int> from_thalweg{0}, from_onednn{0};
thread_local bool looking = false;  // dladdr may allocate

/// The address of the caller tells whose allocation it is.
void count(void* caller) {
  if (looking) return;
  looking = true;
  Dl_info info{};
  const bool onednn = dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
                      std::string_view(info.dli_fname).find("dnnl") != std::string_view::npos;
  ++(onednn ? from_onednn : from_thalweg);
  looking = false;
}

}  // namespace

// Every allocation in C++ comes through here, oneDNN's too.
__attribute__((noinline)) void* operator new(std::size_t bytes) {
  if (counting) count(__builtin_return_address(0));
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  if (counting) count(__builtin_return_address(0));
  return std::malloc(bytes == 0 ? 1 : bytes);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept {
  std::free(memory);
}
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace thalweg::test {

Allocations allocations_in(const std::function<void()>& work) {
  from_thalweg = from_onednn = 0;
  counting = true;
  work();
  counting = false;
  return {from_thalweg, from_onednn};
}

}  // namespace thalweg::test
