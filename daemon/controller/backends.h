// The table of backends.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/backend/backend.h"

namespace thalweg::daemon {

struct Config;

/// A backend with how the controller asks it.
struct BackendSetup {
  std::unique_ptr<Backend> backend;
  double poll_s = 1;      ///< seconds between two looks
  double file_lag_s = 1;  ///< after an attempt's end its files may still be arriving
  /// An attempt that has written nothing for so long since it runs is ended; 0 = never.
  double start_timeout_s = 0;
  /// Between two looks while all its attempts are at work, which their journals show, or in the
  /// queue: a look is a question to a scheduler that others need, too. 0: poll_s.
  double rest_s = 0;
};

struct BackendRow {
  std::string_view name;
  std::string_view doc;
  BackendSetup (*make)(boost::asio::any_io_executor, const Config&);
  bool for_sites = false;  ///< runs attempts under their owners' names
};

/// In the order in which `auto` takes them: the first that is there.
const std::vector<BackendRow>& backend_rows();
std::vector<std::string> backend_names();

}  // namespace thalweg::daemon
