#include "engine/data/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "base/file.h"
#include "engine/data/dataset.h"

namespace thalweg::engine {

MappedFile::MappedFile(const std::filesystem::path& file) : file_(file) {
  const auto fail = [&](const char* what) {
    throw DataError(file_, DataError::kNoOffset, std::string(what) + ": " + std::strerror(errno));
  };
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) fail("cannot open");
  struct stat status {};
  if (fstat(opened.get(), &status) != 0) fail("cannot read");
  if (!S_ISREG(status.st_mode))
    throw DataError(file_, DataError::kNoOffset, "not a file but something else");
  if (status.st_size == 0) throw DataError(file_, 0, "the file is empty");
  size_ = static_cast<std::size_t>(status.st_size);
  void* memory = mmap(nullptr, size_, PROT_READ, MAP_SHARED, opened.get(), 0);
  if (memory == MAP_FAILED) fail("cannot map");
  data_ = static_cast<const std::uint8_t*>(memory);
}

MappedFile::~MappedFile() {
  munmap(const_cast<std::uint8_t*>(data_), size_);
}

}  // namespace thalweg::engine
