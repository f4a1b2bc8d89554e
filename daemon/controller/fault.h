// A testing aid: ends the controller as kill -9 would, at a named point of its work. Only where the
// environment says so: THALWEG_FAULT="after_submit:3" raises SIGKILL when the point `after_submit`
// is passed for the third time.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace thalweg::daemon::fault {

struct Point {
  std::string_view name;
  std::string_view where;
};

/// Every point there is.
const std::vector<Point>& points();

/// Does nothing unless this point was asked for.
void pass(std::string_view point);

/// Reads THALWEG_FAULT and removes it from the environment, so that no attempt inherits it. Throws
/// std::invalid_argument on a point that there is not.
void arm_from_environment();

/// For tests inside one process: called at every point instead (may throw); empty = off.
void set_handler(std::function<void(std::string_view point)> handler);

}  // namespace thalweg::daemon::fault
