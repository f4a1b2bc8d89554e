// IDX, the file format of MNIST and its followers: 00 00 TYPE RANK, RANK big-endian 32-bit sizes,
// values. (yann.lecun.com/exdb/mnist, "The IDX file format"). Plain or gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "engine/data/dataset.h"

namespace thalweg::engine {

/// Only values of type unsigned byte (0x08), which is all that image sets use.
struct Idx {
  std::vector<std::uint32_t> sizes;
  std::vector<std::uint8_t> values;
};

/// Throws DataError with the offset (in the unpacked data) of the first mistake.
Idx read_idx(const std::filesystem::path& file);
/// What stands before the values; there are none.
Idx read_idx_header(const std::filesystem::path& file);

/// Two IDX files: images (n, h, w), (n, c, h, w) or (n, features), and labels (n).
struct IdxPair {
  std::filesystem::path images;
  std::filesystem::path labels;
  double mean = 0;  ///< a pixel p becomes (p / 255 - mean) / deviation
  double deviation = 1;
  int classes = 0;  ///< 0 = the largest label + 1
};

namespace data {
struct HeaderFacts;
}
/// With `facts` the images' header only (engine/data/header.h).
std::unique_ptr<Dataset> load_idx_pair(const IdxPair& pair, data::HeaderFacts* facts = nullptr);

}  // namespace thalweg::engine
