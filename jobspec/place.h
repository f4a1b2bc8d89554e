// Where something stands in a user's file.
#pragma once

namespace thalweg::jobspec {

/// Line and column count from 1, 0 = unknown. The value of a map's key has the place of the key.
struct Place {
  int line = 0;
  int column = 0;
};

}  // namespace thalweg::jobspec
