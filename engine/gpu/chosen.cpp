#include "engine/gpu/chosen.h"

#include <atomic>

namespace thalweg::engine::gpu {
namespace {

std::atomic<int> number{0};
std::atomic<Gpu*> planned{nullptr};

}  // namespace

Gpu& chosen_gpu() {
  Gpu* const only_planned = planned.load();
  return only_planned != nullptr ? *only_planned : gpu(number.load());
}

void choose_gpu(int chosen) {
  number.store(chosen);
}

void choose_planned(Gpu* only_planned) {
  planned.store(only_planned);
}

}  // namespace thalweg::engine::gpu
