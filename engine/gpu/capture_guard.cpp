#include "engine/gpu/capture_guard.h"

#include <string>

#include "engine/gpu/gpu.h"

namespace thalweg::engine::gpu {
namespace {
thread_local int recordings = 0;
}  // namespace

void recording_begins() {
  ++recordings;
}
void recording_ends() noexcept {
  --recordings;
}
void refuse_while_recording(const char* what) {
  if (recordings > 0)
    throw GpuError(std::string(what) + " while the thread records a queue: do it before");
}

}  // namespace thalweg::engine::gpu
