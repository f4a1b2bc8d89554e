#include "daemon/controller/backends.h"

#include "daemon/backend/local.h"
#include "daemon/controller/config.h"

namespace thalweg::daemon {

namespace {

constexpr double local_file_lag_s =
    1;  ///< a local disk shows everything at once; a launcher needs a moment to end

BackendSlot make_local(boost::asio::any_io_executor, const Config& config) {
  return {make_local_backend(config.local), config.local_poll_s, local_file_lag_s};
}

}  // namespace

const std::vector<BackendRow>& backend_rows() {
  static const std::vector<BackendRow> rows = {
      {"local", "processes on this machine, through thalweg-launch", make_local},
  };
  return rows;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const auto& row : backend_rows())
    names.emplace_back(row.name);
  return names;
}

}  // namespace thalweg::daemon
