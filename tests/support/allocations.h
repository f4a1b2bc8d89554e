// Counts what C++ allocates. A program that links this has operator new and delete from here.
#pragma once

#include <functional>

namespace thalweg::test {

/// Calls of operator new.
struct Allocations {
  int ours = 0;
  /// oneDNN keeps small tables of its own while a primitive runs: not ours to avoid.
  int onednn = 0;
};

/// Of all threads, while `work` runs. One call at a time.
Allocations allocations_in(const std::function<void()>& work);

}  // namespace thalweg::test
