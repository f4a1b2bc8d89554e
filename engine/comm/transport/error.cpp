// One wording of what a receiver finds, whichever transport finds it.
#include "engine/comm/transport/error.h"

namespace thalweg::engine::comm {

CommError wrong_length(int from, std::size_t sent, int to, std::size_t expected,
                       const std::string& node) {
  return {"rank " + std::to_string(from) + " sent " + std::to_string(sent) + " bytes where rank " +
              std::to_string(to) + " expects " + std::to_string(expected) +
              ": the ranks call different operations or lengths",
          from, node};
}

}  // namespace thalweg::engine::comm
