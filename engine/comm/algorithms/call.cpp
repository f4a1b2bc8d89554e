#include "engine/comm/algorithms/call.h"

#include <cstdio>

namespace thalweg::engine::comm {
namespace {

std::string elements(const Arguments& a) {
  return std::to_string(a.count) + " " + name_of(a.type);
}

std::string blocks(const Arguments& a) {
  return std::to_string(a.count) + " x " + std::to_string(a.element) + " bytes";
}

std::string tensors(const Call& call) {
  char ends[16];
  std::snprintf(ends, sizeof ends, "%08x", static_cast<unsigned>(call.ends));
  return std::to_string(call.tensors) + (call.tensors == 1 ? " tensor" : " tensors") + " (ends " +
         ends + ")";
}

std::string details(const Call& call) {
  const Arguments& a = call.arguments;
  if (call.tensors > 0) return elements(a) + " in " + tensors(call);
  if (call.shards > 0) return elements(a) + " over " + std::to_string(call.shards) + " shards";
  switch (call.collective) {
    case Collective::allreduce:
    case Collective::reduce_scatter:
      return elements(a) + " (" + name_of(a.op) + ")";
    case Collective::allgather:
    case Collective::all_to_all:
      return blocks(a);
    case Collective::broadcast:
      return std::to_string(a.bytes()) + " bytes from " + std::to_string(a.root);
    case Collective::barrier:
      return {};
  }
  return {};
}

}  // namespace

std::uint32_t digest(std::span<const std::size_t> numbers) {
  std::uint32_t hash = 2166136261U;  // FNV-1a, a number at a time
  for (const std::uint64_t number : numbers) {
    hash = (hash ^ static_cast<std::uint32_t>(number ^ number >> 32U)) * 16777619U;
  }
  return hash;
}

std::string Call::text(std::string_view label) const {
  std::string all = what;
  const std::string more = details(*this);
  if (!label.empty()) {
    all.append(" of ").append(label);
    if (!more.empty()) all += ", " + more;
  } else if (!more.empty()) {
    all += " of " + more;
  }
  if (algorithm) all += std::string(" by ") + algorithm;
  return all;
}

}  // namespace thalweg::engine::comm
