// Lets a caller give up what goes through all combinations of a sweep: a grid may hold millions.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>

namespace thalweg::jobspec {

/// Thrown out of parse_sweep() and expand() where the caller has cancelled them.
class GivenUp : public std::runtime_error {
 public:
  GivenUp() : std::runtime_error("given up: it took too long") {}
};

/// While one lives, what its thread does here ends with GivenUp once `over()` is true.
class Cancellation {
 public:
  explicit Cancellation(std::function<bool()> over);
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

 private:
  friend class Pace;
  std::function<bool()> over_;
  Cancellation* outer_;
};

/// Of a long loop: asks so seldom that it costs nothing.
class Pace {
 public:
  void step() {
    if (++steps_ % 256 == 0) ask();
  }

 private:
  static void ask();
  std::uint64_t steps_ = 0;
};

}  // namespace thalweg::jobspec
