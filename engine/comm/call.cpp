#include "engine/comm/call.h"

namespace thalweg::engine::comm {
namespace {

std::string elements(const Arguments& a) {
  return std::to_string(a.count) + " " + name_of(a.type);
}

std::string blocks(const Arguments& a) {
  return std::to_string(a.count) + " x " + std::to_string(a.element) + " bytes";
}

std::string details(const Call& call) {
  const Arguments& a = call.arguments;
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
