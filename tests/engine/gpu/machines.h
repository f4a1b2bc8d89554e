// Tests of what both machines do: on the emulated one, whose streams do their work at once or have
// threads of their own, and on a real GPU, where there is one.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/gpu/gpu.h"
#include "engine/gpu/loops.h"
#include "tests/support/emulated_gpu/emulated_gpu.h"

namespace thalweg::engine::gpu {

class OnMachine : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    unsetenv("THALWEG_GPU_STREAMS");
    if (std::string(GetParam()).starts_with("emulated")) {
      if (std::string(GetParam()) == "emulated_threads")
        setenv("THALWEG_GPU_STREAMS", "threads", 1);
      gpu_ = &emulated_gpu();
    } else {
      if (gpu_count() == 0) GTEST_SKIP() << why_no_gpu();
      gpu_ = &gpu(0);
    }
    stream_ = gpu_->stream();
  }
  void TearDown() override { unsetenv("THALWEG_GPU_STREAMS"); }

  template <class T>
  Memory up(const std::vector<T>& values) {
    Memory memory(*gpu_, values.size() * sizeof(T), "a test");
    gpu_->copy(memory.data(), values.data(), memory.bytes());
    return memory;
  }
  template <class T>
  std::vector<T> down(const Memory& memory) {
    stream_->wait();
    std::vector<T> values(memory.bytes() / sizeof(T));
    gpu_->copy(values.data(), memory.data(), memory.bytes());
    return values;
  }

  Gpu* gpu_ = nullptr;
  std::unique_ptr<Stream> stream_;
};

#define THALWEG_ON_MACHINES(Suite)                                                              \
  INSTANTIATE_TEST_SUITE_P(Gpu, Suite, testing::Values("emulated", "emulated_threads", "cuda"), \
                           [](const testing::TestParamInfo<const char*>& machine) {             \
                             return std::string(machine.param);                                 \
                           })

}  // namespace thalweg::engine::gpu
