#include "engine/gpu/capture_guard.h"

#include <string>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {
namespace {
thread_local int captures = 0;
}  // namespace

void capture_begins() {
  ++captures;
}
void capture_ends() noexcept {
  --captures;
}
void refuse_while_capturing(const char* what) {
  if (captures > 0)
    throw GpuError(std::string(what) + " while the thread captures a stream: do it before");
}

}  // namespace thalweg::engine::gpu
