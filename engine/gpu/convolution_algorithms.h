// Algorithms to do a convolution by other calls than a convolution's own. For this folder, and for
// the tests' machines.
#pragma once

#include <memory>

#include "engine/gpu/library.h"

namespace thalweg::engine::gpu {

/// `call`, which does `shape`, with two more algorithms at its end (its own last ones make room
/// where it has many): of a convolution of kernels of one place and stride 1, those of the product
/// that it is; of another's backward_data with stride 1, those of a forward convolution of dy with
/// the flipped weights, which a loop of ours writes into the workspace. Others are given back
/// as they are. `library` makes the other call when it is first asked for, and outlives what is
/// returned.
std::unique_ptr<Call> with_other_algorithms(std::unique_ptr<Call> call, const Convolution& shape,
                                            const Library& library);

}  // namespace thalweg::engine::gpu
