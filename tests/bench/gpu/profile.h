// What the operations of a training pass take on a GPU: each of them in its place, or every loop of
// our own beside a copy.
#pragma once

#include <cstddef>
#include <string>

#include "engine/device/device.h"
#include "tests/support/models.h"

namespace thalweg::engine::bench {

struct ProfileSettings {
  test::ModelCase model;
  int batch = 0;
  CompileOptions options;
  bool measured = false;  ///< libraries' calls take their fastest algorithms, else the first
  std::string times;      ///< as of measured_kernels()
  double seconds = 2;     ///< of passes
  std::size_t top = 15;   ///< lines to print
};

/// Prints the operations that take longest, forward, loss and backward, as they follow one another
/// in one captured graph with an event after each (which costs a small one about a microsecond),
/// then sums; the update is not among them. Returns 77 where there is no GPU.
int print_gpu_profile(const ProfileSettings& settings);

/// The same of every distinct loop of our own, several times one after another, beside the rate of
/// a copy: small tensors come from the cache then.
int print_gpu_loops(const ProfileSettings& settings);

/// A line for each kind of library call: how often a training pass makes it, and the algorithm it
/// takes; "fallback: REASON" for what a library refused; "kinds=N".
void print_gpu_calls(const ProfileSettings& settings);

}  // namespace thalweg::engine::bench
