// Windows and shapes as oneDNN takes them.
#pragma once

#include <optional>

#include "engine/device/cpu/onednn.h"
#include "engine/device/window.h"

namespace thalweg::engine::cpu {

inline WindowDims dims_of(const Window& w) {
  return {w.shape(w.kernel), w.shape(w.stride), w.shape(w.padding)};
}

inline Dims batch_of(const Shape& sample, std::int64_t samples) {
  Dims dims{samples};
  dims.insert(dims.end(), sample.begin(), sample.end());
  return dims;
}

/// The tag of images or volumes whose channels, a multiple of 16, stand in blocks of 16 or
/// innermost; none of others.
inline std::optional<Tag> channel_tag(const Desc& values) {
  const Dims dims = dims_of(values);
  const bool volumes = dims.size() == 5;
  if (dims[1] % 16 != 0) return {};
  for (const Tag tag : {volumes ? Tag::aBcde16b : Tag::aBcd16b, volumes ? Tag::acdeb : Tag::acdb})
    if (values == Desc(dims, type_of(values), tag)) return tag;
  return {};
}

inline bool innermost(Tag channels) {
  return channels == Tag::acdeb || channels == Tag::acdb;
}

}  // namespace thalweg::engine::cpu
