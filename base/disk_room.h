// Errors of a disk that pass when somebody makes room.
#pragma once

#include <system_error>

namespace thalweg {

/// The disk is full, or a quota is used up.
bool is_lack_of_room(const std::error_code& error);

}  // namespace thalweg
