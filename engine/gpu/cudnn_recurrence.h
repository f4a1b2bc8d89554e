// LSTMs by cuDNN's recurrent networks. For this room only.
// https://docs.nvidia.com/deeplearning/cudnn/backend/latest/api/cudnn-adv-library.html
#pragma once

#include <cudnn_adv.h>

#include <memory>

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// What cuDNN is asked for, of one algorithm; made without a GPU. Throws GpuError where cuDNN
/// refuses it.
std::shared_ptr<cudnnRNNStruct> descriptor_of(const Recurrence& shape, cudnnRNNAlgo_t algorithm);

/// Nothing where cuDNN has no way for that shape on that GPU, which is noted (refusals()).
RecurrenceCalls cudnn_recurrence(Gpu& gpu, const Recurrence& shape);

}  // namespace thalweg::engine::gpu
