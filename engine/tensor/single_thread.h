// oneDNN's OpenMP kept to the calling thread: executors are the parallelism, and the bits must not
// depend on it.
#pragma once

#include <omp.h>

namespace thalweg::engine {

/// oneDNN asks for the number of threads when a primitive is made and again when it runs; with 1 it
/// starts none. The setting belongs to the calling thread and is put back at the end.
class SingleThread {
 public:
  SingleThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~SingleThread() { omp_set_num_threads(before_); }
  SingleThread(const SingleThread&) = delete;
  SingleThread& operator=(const SingleThread&) = delete;

 private:
  int before_;
};

}  // namespace thalweg::engine
