// Fused attention by cuDNN. For this folder only.
#pragma once

#include <memory>

#include "engine/gpu/cudnn_plans.h"
#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// Null where no engine does it, which is noted (refusals()).
std::unique_ptr<Call> cudnn_attention(CudnnTarget& target, const FusedAttention& shape);

/// Its operations. Tensors are numbered in the order of library.h, from 1 on; the backward graph
/// has one more, of a float for each query.
CudnnGraph graph_of(const FusedAttention& shape);

}  // namespace thalweg::engine::gpu
