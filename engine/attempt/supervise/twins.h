// Loggers print a line on stdout and on stderr alike: it counts once.
#pragma once

#include <array>
#include <deque>
#include <string>

namespace thalweg::engine {

class Twins {
 public:
  /// Whether the other stream (0 or 1 each) has had the same, for which this stream's one has not
  /// come yet. A thousand are remembered.
  bool is_second(int stream, const std::string& what) {
    auto& others = waiting_[static_cast<std::size_t>(1 - stream)];
    for (auto it = others.begin(); it != others.end(); ++it) {
      if (*it != what) continue;
      others.erase(others.begin(), it + 1);  // streams keep their order: those before have no twin
      return true;
    }
    auto& own = waiting_[static_cast<std::size_t>(stream)];
    own.push_back(what);
    if (own.size() > 1000) own.pop_front();
    return false;
  }

 private:
  std::array<std::deque<std::string>, 2> waiting_;
};

}  // namespace thalweg::engine
