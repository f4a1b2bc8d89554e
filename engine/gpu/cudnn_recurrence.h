// LSTMs by cuDNN's recurrent networks. For this folder only.
#pragma once

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// Nothing where cuDNN has no algorithm for that shape on that GPU, which is noted (refusals()).
RecurrenceCalls cudnn_recurrence(Gpu& gpu, const Recurrence& shape);

}  // namespace thalweg::engine::gpu
