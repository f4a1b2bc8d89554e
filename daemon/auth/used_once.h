// What counts once, whoever made it.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace thalweg::auth {

/// Remembers what has counted for as long as it could count again. Thread-safe.
class UsedOnce {
 public:
  /// False where `key` has counted before. `until`, `now`: Unix seconds; after `until` it is
  /// forgotten, since it has expired then.
  bool first_use(const std::string& key, std::int64_t until, std::int64_t now) {
    const std::lock_guard lock(mutex_);
    std::erase_if(used_, [now](const auto& one) { return one.second < now; });
    return used_.try_emplace(key, until).second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::int64_t> used_;
};

}  // namespace thalweg::auth
