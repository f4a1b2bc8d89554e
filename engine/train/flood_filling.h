// Flood filling: a network that was taught to complete the object at the centre of its field of
// view segments a volume of any size, one object after another (Januszewski et al., Nature Methods
// 2018, "High-precision automated reconstruction of neurons with flood-filling networks").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace thalweg::engine {

/// (d, h, w), in voxels.
using VolumeSize = std::array<std::int64_t, 3>;
std::size_t voxels_of(const VolumeSize& size);

struct FloodRule {
  VolumeSize field{};       ///< of view: a sample that the network is compiled for
  float move = 0.9f;        ///< the least probability at which the field moves on
  float keep = 0.6f;        ///< that of an object's voxels
  std::int64_t least = 30;  ///< voxels of an object; fewer are given up
  std::int64_t step(std::size_t axis) const { return field[axis] < 8 ? 1 : field[axis] / 4; }
};

/// From (channels + 1, d, h, w) of a field of view, the last of which is 1 where the object is
/// known to be and else 0, to the logit of each voxel.
using FloodNetwork = std::function<void(const float* inputs, float* logits)>;

/// The number of each voxel's object, from 1; 0: of none. Seeds are tried in a grid of steps, in
/// their order, and turned down where the network's first answer is below `keep` there. The field
/// of view goes on from each to a step's distance along each axis, where the object is there by
/// `move` at least. An object is what its seed is connected with; no voxel changes hands. A
/// function of its arguments alone. `image` is (channels, d, h, w); outside of it its border goes
/// on.
std::vector<std::int32_t> flood_fill(std::span<const float> image, std::int64_t channels,
                                     const VolumeSize& size, const FloodRule& rule,
                                     const FloodNetwork& network);

/// Over voxels whose true number is not 0, but for `iou`. Pairs of voxels that are one object in
/// both: `precision` of those in what was found, `recall` of those in the truth; adapted Rand
/// error: 1 - 2 precision recall / (precision + recall) (Arganda-Carreras et al., Frontiers in
/// Neuroanatomy 2015; as scikit-image's adapted_rand_error).
struct SegmentationScore {
  double rand_error = 0, precision = 0, recall = 0;
  double iou = 0;                     ///< of voxels that are of any object
  std::int64_t found = 0, truth = 0;  ///< objects
};
SegmentationScore score_segmentation(std::span<const std::int32_t> found,
                                     std::span<const std::int32_t> truth);

struct FloodFiles {
  std::string volume;  ///< FILE.npy, FILE.npz:NAME or FILE.h5:NAME of (d, h, w) or (c, d, h, w)
  std::string truth;   ///< of (d, h, w) object numbers; empty: none
  std::string out;     ///< NPY file to write; empty: segmentation.npy beside the trial
};

/// What `--flood-fill` prints: it segments a volume by the trial's newest checkpoint, or by that of
/// the best validation where it keeps one, on the cpu, with the mean and deviation that the trial's
/// inputs have. Throws std::invalid_argument where the trial has no checkpoint or its model takes
/// other samples, DataError and BadCheckpoint.
std::string flood_fill_of_trial(const std::string& trial_file, const FloodFiles& files,
                                bool as_json, bool best = false);

}  // namespace thalweg::engine
