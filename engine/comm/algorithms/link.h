// What a collective algorithm sees: the ranks, and blocking messages that belong to one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "engine/comm/group.h"

namespace thalweg::engine::comm {

/// Waits until the predicate holds, progressing everything; throws CommError.
using WaitFor = std::function<void(const std::function<bool()>&)>;

class Link {
 public:
  /// `tag` belongs to this call alone.
  Link(Transport& transport, std::uint64_t tag, const WaitFor& wait)
      : transport_(transport), tag_(tag), wait_(wait) {}

  int rank() const { return transport_.rank(); }
  int size() const { return transport_.size(); }

  void send(int to, const void* data, std::size_t bytes) {
    finish(nullptr, transport_.send(to, tag_, data, bytes));
  }
  void receive(int from, void* data, std::size_t bytes) {
    finish(transport_.receive(from, tag_, data, bytes), nullptr);
  }
  /// Both at once, so that neither side waits for the other to listen first.
  void exchange(int to, const void* out, std::size_t out_bytes, int from, void* in,
                std::size_t in_bytes) {
    auto incoming = transport_.receive(from, tag_, in, in_bytes);
    finish(std::move(incoming), transport_.send(to, tag_, out, out_bytes));
  }

 private:
  void finish(std::unique_ptr<Request> a, std::unique_ptr<Request> b) {
    wait_([&] { return (!a || a->test()) && (!b || b->test()); });
  }

  Transport& transport_;
  std::uint64_t tag_;
  const WaitFor& wait_;
};

}  // namespace thalweg::engine::comm
