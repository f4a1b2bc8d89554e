#include "engine/tensor/buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>

namespace thalweg::engine {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
/// Below this a huge page would mostly hold nothing.
constexpr std::size_t huge_from = 2 * huge_page;

}  // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  const std::size_t alignment = bytes >= huge_from ? huge_page : alignment_bytes;
  const std::size_t rounded = round_up(bytes, alignment_bytes);
  if (posix_memalign(&data_, alignment, rounded) != 0) throw std::bad_alloc();
  // Advice: where the kernel has no huge pages the buffer is as good as any other. Its end, less
  // than such a page, is not worth one.
  if (bytes >= huge_from) madvise(data_, rounded / huge_page * huge_page, MADV_HUGEPAGE);
  std::memset(data_, 0, rounded);
}

Buffer::~Buffer() {
  std::free(data_);
}

}  // namespace thalweg::engine
