// `length` and `stride`, which all rows that cut a text into samples share.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/table.h"

namespace thalweg::engine::data {

struct WindowOptions {
  std::int64_t length = 0, stride = 0;
};

WindowOptions read_window(const Options& options);
std::vector<jobspec::Option> window_options();

}  // namespace thalweg::engine::data
