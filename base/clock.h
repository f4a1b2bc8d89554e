// The clock that everything which waits reads. A simulation puts its own in place of the machine's,
// and a day passes in milliseconds.
#pragma once

#include <chrono>

namespace thalweg {

/// As std::chrono::steady_clock, whose times it gives unless a source is set.
struct Clock {
  using duration = std::chrono::steady_clock::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<Clock>;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;

  class Source {
   public:
    virtual ~Source() = default;
    virtual duration steady() = 0;
    virtual double unix_s() = 0;  ///< Unix seconds; may jump
    /// How long a thread sleeps until the next timer, which runs out in `left`.
    virtual duration sleep(duration left) = 0;
  };
  /// nullptr: the machine's clocks again. Not while others read them.
  static void set_source(Source* source);
  static Source* source();
};

}  // namespace thalweg
