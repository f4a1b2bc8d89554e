// The launcher's own temporary folder, in which the PMIx library keeps its files.
#pragma once

#include <filesystem>

#include "base/file.h"

namespace thalweg::engine::launch {

/// Made in $TMPDIR or /tmp, removed by the destructor. It holds a lock while its launcher lives,
/// and its name tells which process that is: the folders of launchers that were killed are found by
/// both and removed by the next one that starts or ends.
class Rendezvous {
 public:
  Rendezvous();  ///< throws std::system_error
  ~Rendezvous();
  Rendezvous(const Rendezvous&) = delete;
  Rendezvous& operator=(const Rendezvous&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor lock_;
};

}  // namespace thalweg::engine::launch
