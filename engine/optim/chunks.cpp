#include "engine/optim/chunks.h"

#include <algorithm>
#include <utility>

namespace thalweg::engine::optim {
namespace {

template <class T>
gpu::Memory put(gpu::Gpu& gpu, const std::vector<T>& values) {
  gpu::Memory memory(gpu, values.size() * sizeof(T), "the optimizer's table of parameters");
  if (!values.empty()) gpu.copy(memory.data(), values.data(), values.size() * sizeof(T));
  return memory;
}

}  // namespace

Chunks::Chunks(gpu::Gpu& gpu, std::span<const ParameterInfo> infos,
               const std::vector<int>& choices) {
  std::vector<Chunk> chunks;
  std::vector<std::int32_t> first;
  for (std::size_t p = 0; p < infos.size(); ++p) {
    first.push_back(static_cast<std::int32_t>(chunks.size()));
    for (std::size_t at = 0; at < infos[p].count; at += size)
      chunks.push_back({static_cast<std::int64_t>(infos[p].offset + at),
                        static_cast<std::int32_t>(std::min<std::size_t>(size, infos[p].count - at)),
                        static_cast<std::int32_t>(p), choices.empty() ? 0 : choices.at(p)});
  }
  first.push_back(static_cast<std::int32_t>(chunks.size()));
  chunks_ = put(gpu, chunks);
  first_ = put(gpu, first);
  table_ = {static_cast<const Chunk*>(chunks_.data()),
            static_cast<const std::int32_t*>(first_.data()),
            static_cast<std::int32_t>(chunks.size()), static_cast<std::int32_t>(infos.size())};
  first_on_host_ = std::move(first);
}

}  // namespace thalweg::engine::optim
