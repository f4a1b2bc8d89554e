#include "tests/bench/step/limit.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "engine/device/cpu/onednn.h"
#include "engine/device/executor.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/single_thread.h"

namespace thalweg::engine::bench {
namespace {

constexpr std::int64_t kSize = 1024;
constexpr int kTurns = 5, kProductsInTurn = 4;

using Clock = std::chrono::steady_clock;

class Product {
 public:
  explicit Product(dnnl::memory::data_type type) {
    const SingleThread guard;
    const cpu::Desc any({kSize, kSize}, type, cpu::Tag::any);
    const auto pd = cpu::forward(cpu::Matmul{any, any, any});
    primitive_ = dnnl::matmul(pd);
    const auto memory = [&](int argument, const cpu::Desc& desc) {
      buffers_.emplace_back(desc.get_size());
      arguments_[argument] = dnnl::memory(desc, cpu::cpu_engine(), buffers_.back().data());
    };
    memory(DNNL_ARG_SRC, pd.src_desc());
    memory(DNNL_ARG_WEIGHTS, pd.weights_desc());
    memory(DNNL_ARG_DST, pd.dst_desc());
    memory(DNNL_ARG_SCRATCHPAD, pd.scratchpad_desc());
  }
  void run() {
    const SingleThread guard;
    for (int i = 0; i < kProductsInTurn; ++i)
      primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  dnnl::matmul primitive_;
  dnnl::stream stream_{cpu::cpu_engine()};
  std::vector<Buffer> buffers_;
  std::unordered_map<int, dnnl::memory> arguments_;
};

}  // namespace

double attainable_gflops(ExecutorPool& executors, bool bf16) {
  const auto type = bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
  std::vector<std::unique_ptr<Product>> products;
  for (int i = 0; i < executors.threads(); ++i)
    products.push_back(std::make_unique<Product>(type));
  double best = 0;
  for (int turn = 0; turn <= kTurns; ++turn) {
    const auto start = Clock::now();
    executors.run(executors.threads(),
                  [&](int task, Executor&) { products[static_cast<std::size_t>(task)]->run(); });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double flops = 2.0 * kSize * kSize * kSize * kProductsInTurn * executors.threads();
    if (turn > 0) best = std::max(best, flops / seconds * 1e-9);
  }
  return best;
}

}  // namespace thalweg::engine::bench
