// std::errc has no name for a quota.
#include "base/disk_room.h"

#include <cerrno>

namespace thalweg {

bool is_lack_of_room(const std::error_code& error) {
  const bool of_system =
      error.category() == std::generic_category() || error.category() == std::system_category();
  return of_system && (error.value() == ENOSPC || error.value() == EDQUOT);
}

}  // namespace thalweg
