// std::errc has no name for a quota.
#include "base/disk_room.h"

#include <cerrno>
#include <thread>
#include <utility>

namespace thalweg {

bool is_lack_of_room(const std::error_code& error) {
  const bool of_system =
      error.category() == std::generic_category() || error.category() == std::system_category();
  return of_system && (error.value() == ENOSPC || error.value() == EDQUOT);
}

void with_room(const std::function<void()>& write,
               const std::function<void(const std::string&)>& told) {
  constexpr std::chrono::milliseconds look{500};
  const auto until = std::chrono::steady_clock::now() + room_patience;
  for (bool first = true;; std::this_thread::sleep_for(look)) {
    try {
      return write();
    } catch (const std::system_error& error) {
      if (!is_lack_of_room(error.code()) || std::chrono::steady_clock::now() >= until) throw;
      if (std::exchange(first, false) && told) told(error.what());
    }
  }
}

}  // namespace thalweg
