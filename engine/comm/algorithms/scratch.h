// Memory that algorithms work in, kept between calls: fresh pages would cost more than the
// messages.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace thalweg::engine::comm {

/// Lends blocks and takes them back. Used by one thread at a time; outlives its leases.
class Scratch {
  struct Free {
    void operator()(std::byte* block) const;
  };
  struct Block {
    std::unique_ptr<std::byte, Free> data;
    std::size_t bytes = 0;
  };

 public:
  /// A block until destroyed: aligned to 64 bytes, not zeroed.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&& other) noexcept;
    ~Lease();
    std::byte* data() const { return block_.data.get(); }
    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(data());
    }

   private:
    friend class Scratch;
    Lease(Scratch* owner, Block block) : owner_(owner), block_(std::move(block)) {}
    Scratch* owner_ = nullptr;
    Block block_;
  };

  /// Throws std::bad_alloc.
  Lease lease(std::size_t bytes);

 private:
  std::vector<Block> idle_;  ///< ascending in size
};

}  // namespace thalweg::engine::comm
