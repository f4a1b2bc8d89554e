#include "engine/sync/device/flat_vector.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

#include "engine/nn/model.h"

namespace thalweg::engine {

FlatVector FlatVector::sparse(std::size_t count) {
  FlatVector vector;
  vector.count_ = count;
  if (count == 0) return vector;
  const std::size_t bytes = count * sizeof(float);
  void* const pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  vector.pages_ = {static_cast<float*>(pages), UnmapPages{bytes}};
  return vector;
}

FlatVector FlatVector::of(const Model& model, std::size_t count, const std::string& what) {
  return {model.gpu(), count, what};
}

void UnmapPages::operator()(float* pages) const {
  munmap(pages, bytes);
}

FlatVector::FlatVector(gpu::Gpu* gpu, std::size_t count, const std::string& what)
    : where_(gpu), count_(count) {
  if (where_ != nullptr)
    there_ = gpu::Memory(*where_, count * sizeof(float), what);
  else
    here_ = Buffer::of_floats(count);
}

std::vector<float> FlatVector::read() const {
  std::vector<float> values(count_);
  read(values.data());
  return values;
}

void FlatVector::read(float* to) const {
  if (where_ == nullptr)
    std::copy_n(floats(), count_, to);
  else if (count_ > 0)
    where_->copy(to, floats(), count_ * sizeof(float));
}

void FlatVector::write(const float* from) {
  if (where_ == nullptr)
    std::copy_n(from, count_, floats());
  else if (count_ > 0)
    where_->copy(floats(), from, count_ * sizeof(float));
}

}  // namespace thalweg::engine
