#include "engine/comm/algorithms/link.h"

namespace thalweg::engine::comm {

Messages Link::messages() const {
  return Messages(*this);
}

Messages Link::send(int to, const void* data, std::size_t bytes) const {
  return {*this, to, data, bytes, -1, nullptr, 0};
}

Messages Link::receive(int from, void* data, std::size_t bytes) const {
  return {*this, -1, nullptr, 0, from, data, bytes};
}

Messages Link::exchange(int to, const void* out, std::size_t out_bytes, int from, void* in,
                        std::size_t in_bytes) const {
  return {*this, to, out, out_bytes, from, in, in_bytes};
}

Messages::Messages(const Link& link, int to, const void* out, std::size_t out_bytes, int from,
                   void* in, std::size_t in_bytes)
    : link_(link) {
  if (from >= 0) receive(from, in, in_bytes);
  if (to >= 0) send(to, out, out_bytes);
}

template <class F>
void Messages::post(F&& f) {
  // An exception must not unwind through a coroutine (see task.h): ready() throws it.
  if (failure_) return;
  try {
    if (auto request = f()) open_.push_back(std::move(request));
  } catch (...) {
    failure_ = std::current_exception();
  }
}

Messages& Messages::send(int to, const void* data, std::size_t bytes) {
  post([&] {
    return link_.transport().send(link_.world_rank(to), link_.tag(), data, bytes, where_);
  });
  return *this;
}

Messages& Messages::receive(int from, void* data, std::size_t bytes) {
  post([&] {
    return link_.transport().receive(link_.world_rank(from), link_.tag(), data, bytes, where_);
  });
  return *this;
}

bool Messages::ready() {
  if (failure_) std::rethrow_exception(failure_);
  while (!open_.empty() && open_.back()->test()) {
    open_.pop_back();
  }
  return open_.empty();
}

Arrivals& Arrivals::receive(int from, void* data, std::size_t bytes) {
  if (failure_) return *this;
  try {
    open_.push_back(link_.transport().receive(link_.world_rank(from), link_.tag(), data, bytes,
                                              MessageMemory::host));
  } catch (...) {
    failure_ = std::current_exception();
  }
  return *this;
}

bool Arrivals::ready() {
  if (failure_) std::rethrow_exception(failure_);
  if (open_.front() && !open_.front()->test()) return false;
  open_.pop_front();
  return true;
}

}  // namespace thalweg::engine::comm
