// What earlier runs took for something of a known size, to predict what the next takes.
#pragma once

#include <string>
#include <vector>

#include "db/store.h"

namespace thalweg::db::analysis {

struct Measurement {
  std::string trial;  ///< "12.3"
  double x = 0, y = 0;

  static void each_field(auto& e, auto&& field) {
    field("trial", e.trial);
    field("x", e.x);
    field("y", e.y);
  }
};

struct Measurements {
  std::string x_name, y_name;
  std::vector<Measurement> points;  ///< newest first

  static void each_field(auto& e, auto&& field) {
    field("x_name", e.x_name);
    field("y_name", e.y_name);
    field("points", e.points);
  }
};

/// "step": GFLOPs of a rank's step and its seconds; "checkpoint": megabytes and seconds; "compute":
/// when a trial reported last (years AD) and the petaflop/s-days (8.64e19 operations) that its
/// samples took until then. On a
/// device ("cpu", "cuda"; empty: any); runs on emulated ranks are left out. Throws
/// std::invalid_argument for another word.
Measurements read_measurements(ReadStore& store, const std::string& of, const std::string& device);

}  // namespace thalweg::db::analysis
