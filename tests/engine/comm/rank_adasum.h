#pragma once

#include "engine/comm/group.h"

namespace thalweg::engine::comm {

/// Adasum on the ranks at hand, of ranks and of machines where their numbers are powers of two:
/// numbers of the literature, orthogonal vectors add up, parallel ones average. Throws
/// std::runtime_error. How many of the forms were checked.
int check_adasum(Group& group);

}  // namespace thalweg::engine::comm
