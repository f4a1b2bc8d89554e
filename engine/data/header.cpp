#include "engine/data/header.h"

#include <stdexcept>

namespace thalweg::engine::data {
namespace {

[[noreturn]] void refuse() {
  throw std::logic_error("only the header of this dataset was read");
}

}  // namespace

void HeaderOnly::copy(std::size_t, float*) const {
  refuse();
}

const std::uint8_t* HeaderOnly::stored_sample(std::size_t) const {
  refuse();
}

void HeaderOnly::copy_labels(std::size_t, std::int32_t*) const {
  refuse();
}

}  // namespace thalweg::engine::data
