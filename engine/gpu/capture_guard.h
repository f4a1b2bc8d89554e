// While a thread records a queue it may not do what CUDA cannot record. Both machines refuse it
// before CUDA would, which spoils the recording. For this room only.
#pragma once

namespace thalweg::engine::gpu {

/// Counts the recordings that this thread has begun and not ended.
void recording_begins();
void recording_ends() noexcept;
/// Throws GpuError: `what` cannot be recorded.
void refuse_while_recording(const char* what);

}  // namespace thalweg::engine::gpu
