// What the reference.cpp of a layer has for its row: options that several layers have.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/device/reference/layer.h"
#include "engine/device/window.h"
#include "jobspec/option.h"
#include "jobspec/options.h"

namespace thalweg::engine::layers {

using jobspec::flag_option;
using jobspec::float_option;
using jobspec::Option;

/// Sizes are 32 bits in the kernels.
inline constexpr double largest = 1 << 24;

inline Option whole(std::string name, std::string doc, int fallback, double min) {
  return jobspec::int_option(std::move(name), fallback, min, largest, std::move(doc));
}

/// A size from 1 on that has to be given.
inline Option required(std::string name, std::string doc) {
  return jobspec::required(whole(std::move(name), std::move(doc), 1, 1));
}

inline Option bias_option() {
  return flag_option("bias", true, "add a learned bias");
}

inline Option epsilon_option() {
  return float_option("epsilon", 1e-5, 1e-12, 1, "added to the variance");
}

/// `first`, and those of a window; a stride of 0 is the kernel's size.
inline std::vector<Option> with_window(std::vector<Option> first, int stride) {
  constexpr double longest = 1 << 10;
  for (Option option : {required("kernel", "length of the window in every direction"),
                        whole("stride", "step of the window (0: the kernel's size)", stride, 0),
                        whole("padding", "zeros added on every side", 0, 0)}) {
    option.max = longest;
    first.push_back(std::move(option));
  }
  return first;
}

inline WindowOptions window_options(const jobspec::Options& options, int directions) {
  return {directions, options.integer("kernel"), options.integer("stride"),
          options.integer("padding")};
}

}  // namespace thalweg::engine::layers
