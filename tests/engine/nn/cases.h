// The graphs that every device is tried on: each layer in the middle of a small chain, in ordinary
// and odd shapes.
#pragma once

#include <vector>

#include "support.h"

namespace thalweg::engine::test {

inline LayerSpec linear(const char* name, int outputs, bool bias = true) {
  return {"linear", name, {{"outputs", outputs}, {"bias", bias}}};
}

inline LayerSpec conv(const char* name, int channels, int kernel, int stride, int padding,
                      bool bias = true) {
  return {"conv2d",
          name,
          {{"channels", channels},
           {"kernel", kernel},
           {"stride", stride},
           {"padding", padding},
           {"bias", bias}}};
}

inline LayerSpec sum(const char* name, std::vector<std::string> inputs) {
  return {"add", name, {}, std::move(inputs)};
}

inline LayerSpec relu_of(const char* name, const char* input) {
  return {"relu", name, {}, {input}};
}

inline LayerSpec pool(const char* kind, int kernel, int stride, int padding) {
  return {kind, kind, {{"kernel", kernel}, {"stride", stride}, {"padding", padding}}};
}

/// Small enough for finite differences.
inline std::vector<Case> small_cases() {
  const LayerSpec relu{"relu", "relu", {}}, flatten{"flatten", "flatten", {}},
      norm{"batch_norm", "norm", {}}, drop{"dropout", "drop", {{"probability", 0.3}}};
  return {
      {"linear", {5}, 3, 4, {linear("a", 4)}},
      {"sum_of_two_branches",
       {5},
       3,
       4,
       {linear("a", 6), relu_of("b", "a"), linear("c", 6), sum("d", {"a", "c"}), relu,
        linear("e", 4)}},
      {"sum_with_itself", {5}, 3, 4, {linear("a", 4), sum("b", {"a", "a"}), linear("c", 4)}},
      {"sum_of_three_with_the_input",
       {5},
       3,
       4,
       {linear("a", 5), relu_of("b", "a"), sum("c", {"b", "input", "a"}), linear("d", 4)}},
      {"relu_of_a_value_taken_twice",
       {5},
       3,
       4,
       {linear("a", 5), relu_of("b", "a"), drop, sum("c", {"a", "drop"}), linear("d", 4)}},
      {"residual_images",
       {2, 5, 6},
       2,
       3,
       {conv("a", 4, 3, 1, 1),
        relu_of("b", "a"),
        conv("c", 4, 3, 1, 1, false),
        {"batch_norm", "n", {}, {"c"}},
        sum("d", {"n", "b"}),
        relu,
        pool("max_pool2d", 2, 0, 0),
        flatten,
        linear("e", 3)}},
      {"flattened_branches",
       {2, 4, 4},
       2,
       3,
       {conv("a", 3, 3, 1, 1),
        flatten,
        {"flatten", "f", {}, {"a"}},
        sum("d", {"flatten", "f"}),
        linear("e", 3)}},
      {"linear_one_sample", {1}, 1, 2, {linear("a", 2)}},
      {"linear_twice", {7}, 4, 3, {linear("a", 5), linear("b", 3)}},
      {"linear_without_bias", {7}, 4, 3, {linear("a", 5, false), linear("b", 3, false)}},
      {"relu", {6}, 5, 3, {linear("a", 9), relu, linear("b", 3)}},
      {"relu_of_input", {6}, 5, 3, {relu, linear("b", 3)}},
      {"conv_same", {2, 5, 6}, 2, 3, {conv("a", 3, 3, 1, 1), flatten, linear("b", 3)}},
      {"conv_twice",
       {3, 6, 6},
       2,
       3,
       {conv("a", 4, 3, 1, 1), relu, conv("b", 5, 3, 1, 0), flatten, linear("c", 3)}},
      {"conv_kernel_5_stride_2",
       {2, 7, 8},
       2,
       3,
       {conv("a", 3, 5, 2, 2), conv("b", 2, 3, 2, 1), flatten, linear("c", 3)}},
      {"conv_one_pixel", {3, 1, 1}, 2, 2, {conv("a", 4, 1, 1, 0), conv("b", 2, 1, 1, 0), flatten}},
      {"conv_without_bias",
       {1, 4, 4},
       1,
       2,
       {conv("a", 3, 3, 1, 1, false), conv("b", 2, 4, 1, 0, false), flatten}},
      {"max_pool",
       {2, 6, 6},
       2,
       3,
       {conv("a", 3, 3, 1, 1), pool("max_pool2d", 2, 0, 0), flatten, linear("b", 3)}},
      {"max_pool_after_relu",
       {2, 6, 6},
       2,
       3,
       {conv("a", 3, 3, 1, 1), relu, pool("max_pool2d", 2, 0, 0), flatten, linear("b", 3)}},
      {"max_pool_overlapping",
       {2, 5, 7},
       2,
       3,
       {conv("a", 3, 3, 1, 1), relu, pool("max_pool2d", 3, 2, 1), flatten, linear("b", 3)}},
      {"max_pool_of_input",
       {2, 5, 5},
       2,
       3,
       {pool("max_pool2d", 2, 0, 0), flatten, linear("b", 3)}},
      {"avg_pool",
       {2, 6, 6},
       2,
       3,
       {conv("a", 3, 3, 1, 1), relu, pool("avg_pool2d", 2, 0, 0), flatten, linear("b", 3)}},
      {"avg_pool_padded",
       {2, 5, 5},
       2,
       3,
       {conv("a", 3, 3, 1, 1), pool("avg_pool2d", 3, 2, 1), flatten, linear("b", 3)}},
      {"batch_norm_features", {5}, 6, 3, {linear("a", 7, false), norm, relu, linear("b", 3)}},
      {"batch_norm_images",
       {2, 4, 4},
       3,
       3,
       {conv("a", 5, 3, 1, 1, false), norm, relu, flatten, linear("b", 3)}},
      {"batch_norm_without_relu",
       {2, 4, 4},
       3,
       3,
       {conv("a", 5, 3, 1, 1, false), norm, flatten, linear("b", 3)}},
      {"batch_norm_of_input", {3, 4, 4}, 3, 3, {norm, flatten, linear("b", 3)}},
      {"dropout_features", {6}, 4, 3, {linear("a", 11), relu, drop, linear("b", 3)}},
      {"dropout_images",
       {2, 5, 5},
       2,
       3,
       {conv("a", 5, 3, 1, 1), drop, pool("max_pool2d", 2, 0, 0), flatten, linear("b", 3)}},
      {"dropout_of_input", {6}, 4, 3, {drop, linear("b", 3)}},
      {"flatten_flat", {6}, 4, 3, {flatten, linear("b", 3)}},
  };
}

/// Too large for finite differences: full vectors, tails, paths for many channels.
inline std::vector<Case> larger_cases() {
  const auto layer = [](const char* kind, const char* name) { return LayerSpec{kind, name, {}}; };
  const LayerSpec flatten = layer("flatten", "flatten");
  const LayerSpec drop{"dropout", "drop", {{"probability", 0.4}}};
  return {
      {"linear_wide", {300}, 33, 10, {linear("a", 257), layer("relu", "r"), linear("b", 10)}},
      {"linear_full_vectors",
       {256},
       32,
       16,
       {linear("a", 128), layer("relu", "r"), linear("b", 16)}},
      {"conv_winograd",
       {16, 14, 14},
       4,
       10,
       {conv("a", 32, 3, 1, 1), layer("relu", "r"), conv("b", 64, 3, 1, 1), layer("relu", "s"),
        pool("max_pool2d", 2, 0, 0), flatten, linear("c", 10)}},
      {"conv_odd_channels",
       {17, 9, 11},
       3,
       5,
       {conv("a", 19, 3, 1, 1), layer("relu", "r"), conv("b", 33, 5, 2, 2), flatten,
        linear("c", 5)}},
      {"conv_one_sample",
       {3, 32, 32},
       1,
       10,
       {conv("a", 16, 5, 2, 2), layer("relu", "r"), pool("max_pool2d", 2, 0, 0), flatten,
        linear("c", 10)}},
      {"conv_pointwise",
       {24, 8, 8},
       4,
       6,
       {conv("a", 40, 1, 1, 0), conv("b", 8, 1, 2, 0), flatten, linear("c", 6)}},
      {"pools_of_odd_images",
       {20, 13, 15},
       2,
       4,
       {conv("a", 20, 3, 1, 1), layer("relu", "r"), pool("max_pool2d", 2, 0, 0),
        pool("avg_pool2d", 3, 2, 1), flatten, linear("c", 4)}},
      {"norm_odd_channels",
       {3, 10, 9},
       4,
       5,
       {conv("a", 21, 3, 1, 1, false), layer("batch_norm", "n"), layer("relu", "r"),
        pool("max_pool2d", 2, 0, 0), flatten, linear("b", 37, false), layer("batch_norm", "m"),
        layer("relu", "s"), linear("c", 5)}},
      {"norm_full_vectors",
       {3, 10, 10},
       4,
       5,
       {conv("a", 32, 3, 1, 1, false), layer("batch_norm", "n"), layer("relu", "r"), flatten,
        linear("c", 5)}},
      {"norm_after_flatten",
       {3, 6, 6},
       8,
       5,
       {conv("a", 18, 3, 1, 1, false), flatten, layer("batch_norm", "n"), layer("relu", "r"),
        linear("c", 5)}},
      {"logits_from_images", {5, 2, 2}, 3, 12, {conv("a", 3, 3, 1, 1), flatten}},
      {"relu_and_dropout_after_flatten",
       {3, 6, 6},
       4,
       5,
       {conv("a", 18, 3, 1, 1), flatten, layer("relu", "r"), drop, linear("c", 5)}},
  };
}

}  // namespace thalweg::engine::test
