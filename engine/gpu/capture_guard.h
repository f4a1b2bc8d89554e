// While a thread captures a stream it may not do what CUDA cannot capture. Both machines refuse
// it before CUDA would, which invalidates the capture. For this folder only.
#pragma once

namespace thalweg::engine::gpu {

/// Counts the captures that this thread has begun and not ended.
void capture_begins();
void capture_ends() noexcept;
/// Throws GpuError: `what` cannot be captured.
void refuse_while_capturing(const char* what);

}  // namespace thalweg::engine::gpu
