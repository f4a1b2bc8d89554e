// The queue of places to look at, and the score. A place's prediction overwrites what was thought
// of its voxels before, as in the paper: it has seen more of the object.
#include "engine/train/flood_filling.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace thalweg::engine {
namespace {

class Flood {
 public:
  Flood(std::span<const float> image, std::int64_t channels, const VolumeSize& size,
        const FloodRule& rule, const FloodNetwork& network)
      : image_(image),
        channels_(channels),
        size_(size),
        rule_(rule),
        network_(network),
        voxels_(voxels_of(size)),
        field_(voxels_of(rule.field)),
        numbers_(voxels_),
        inputs_(static_cast<std::size_t>(channels + 1) * field_),
        logits_(field_) {}

  std::vector<std::int32_t> run() {
    VolumeSize seed;
    const auto first = [&](std::size_t a) { return std::min(rule_.step(a), size_[a]) / 2; };
    for (seed[0] = first(0); seed[0] < size_[0]; seed[0] += rule_.step(0))
      for (seed[1] = first(1); seed[1] < size_[1]; seed[1] += rule_.step(1))
        for (seed[2] = first(2); seed[2] < size_[2]; seed[2] += rule_.step(2))
          if (numbers_[at(seed)] == 0) grow(seed);
    return std::move(numbers_);
  }

 private:
  std::size_t at(const VolumeSize& p) const {
    return static_cast<std::size_t>((p[0] * size_[1] + p[1]) * size_[2] + p[2]);
  }
  bool inside(const VolumeSize& p) const {
    for (std::size_t a = 0; a < 3; ++a)
      if (p[a] < 0 || p[a] >= size_[a]) return false;
    return true;
  }

  /// Visits every voxel of the field about a place, with its number in the field.
  template <class Visit>
  void for_field(const VolumeSize& centre, const Visit& visit) const {
    std::size_t number = 0;
    VolumeSize i, p;
    for (i[0] = 0; i[0] < rule_.field[0]; ++i[0])
      for (i[1] = 0; i[1] < rule_.field[1]; ++i[1])
        for (i[2] = 0; i[2] < rule_.field[2]; ++i[2], ++number) {
          for (std::size_t a = 0; a < 3; ++a)
            p[a] = centre[a] - rule_.field[a] / 2 + i[a];
          visit(p, number);
        }
  }

  void grow(const VolumeSize& seed) {
    probable_.clear();
    probable_[at(seed)] = 1;
    std::deque<VolumeSize> places{seed};
    std::set<VolumeSize> seen;
    for (bool first = true; !places.empty(); first = false) {
      const VolumeSize place = places.front();
      places.pop_front();
      if (!seen.insert(cell_of(place, seed)).second) continue;
      look(place);
      if (first && !(probability(seed) >= rule_.keep)) return;  // not an object's voxel
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (const int side : {-1, 1})
          if (const auto next = best_of_face(place, axis, side)) places.push_back(*next);
    }
    const std::vector<std::size_t> object = connected(seed);
    if (static_cast<std::int64_t>(object.size()) < rule_.least) return;
    ++objects_;
    for (const std::size_t voxel : object)
      numbers_[voxel] = objects_;
  }

  /// The voxels to keep that the seed reaches from face to face: what the network saw of other
  /// objects is left to seeds of their own.
  std::vector<std::size_t> connected(const VolumeSize& seed) const {
    std::vector<std::size_t> object;
    std::set<std::size_t> seen;
    std::deque<VolumeSize> next{seed};
    while (!next.empty()) {
      const VolumeSize p = next.front();
      next.pop_front();
      if (!inside(p) || !(probability(p) >= rule_.keep) || !seen.insert(at(p)).second) continue;
      object.push_back(at(p));
      for (std::size_t axis = 0; axis < 3; ++axis)
        for (const int side : {-1, 1}) {
          next.push_back(p);
          next.back()[axis] += side;
        }
    }
    return object;
  }

  /// Places nearer to one another than a step are one.
  VolumeSize cell_of(const VolumeSize& place, const VolumeSize& seed) const {
    VolumeSize cell;
    for (std::size_t a = 0; a < 3; ++a) {
      const double steps = static_cast<double>(place[a] - seed[a]) /
                           static_cast<double>(std::max<std::int64_t>(1, rule_.step(a)));
      cell[a] = static_cast<std::int64_t>(std::lround(steps));
    }
    return cell;
  }

  float probability(const VolumeSize& p) const {
    const auto found = probable_.find(at(p));
    return found == probable_.end() ? 0 : found->second;
  }

  void look(const VolumeSize& place) {
    for_field(place, [&](VolumeSize p, std::size_t number) {
      inputs_[static_cast<std::size_t>(channels_) * field_ + number] =
          inside(p) && probability(p) >= rule_.keep ? 1.0f : 0.0f;
      for (std::size_t a = 0; a < 3; ++a)
        p[a] = std::clamp<std::int64_t>(p[a], 0, size_[a] - 1);
      for (std::size_t c = 0; c < static_cast<std::size_t>(channels_); ++c)
        inputs_[c * field_ + number] = image_[c * voxels_ + at(p)];
    });
    network_(inputs_.data(), logits_.data());
    for_field(place, [&](const VolumeSize& p, std::size_t number) {
      if (!inside(p) || numbers_[at(p)] != 0) return;
      const float probable = 1 / (1 + std::exp(-logits_[number]));
      // What is never looked at again need not be remembered.
      if (probable >= 0.01f)
        probable_[at(p)] = probable;
      else
        probable_.erase(at(p));
    });
  }

  /// The middle of the face if it is probable enough, which keeps places apart, else where the face
  /// is most probable.
  std::optional<VolumeSize> best_of_face(const VolumeSize& place, std::size_t axis,
                                         int side) const {
    VolumeSize low, high, p = place;
    p[axis] += side * rule_.step(axis);
    if (inside(p) && probability(p) >= rule_.move) return p;
    for (std::size_t a = 0; a < 3; ++a)
      low[a] = place[a] - rule_.step(a), high[a] = place[a] + rule_.step(a);
    low[axis] = high[axis] = p[axis];
    std::optional<VolumeSize> best;
    float most = 0;
    for (p[0] = low[0]; p[0] <= high[0]; ++p[0])
      for (p[1] = low[1]; p[1] <= high[1]; ++p[1])
        for (p[2] = low[2]; p[2] <= high[2]; ++p[2])
          if (inside(p) && probability(p) > most) most = probability(p), best = p;
    return most >= rule_.move ? best : std::nullopt;
  }

  std::span<const float> image_;
  std::int64_t channels_;
  VolumeSize size_;
  FloodRule rule_;
  const FloodNetwork& network_;
  std::size_t voxels_, field_;
  std::vector<std::int32_t> numbers_;
  std::map<std::size_t, float> probable_;  ///< of the object under way; what is missing is 0
  std::vector<float> inputs_, logits_;
  std::int32_t objects_ = 0;
};

double pairs(double n) {
  return n * (n - 1) / 2;
}

template <class Counts>
double pairs_in(const Counts& counts) {
  double sum = 0;
  for (const auto& entry : counts)
    sum += pairs(static_cast<double>(entry.second));
  return sum;
}

}  // namespace

std::size_t voxels_of(const VolumeSize& size) {
  return static_cast<std::size_t>(size[0] * size[1] * size[2]);
}

std::vector<std::int32_t> flood_fill(std::span<const float> image, std::int64_t channels,
                                     const VolumeSize& size, const FloodRule& rule,
                                     const FloodNetwork& network) {
  return Flood(image, channels, size, rule, network).run();
}

SegmentationScore score_segmentation(std::span<const std::int32_t> found,
                                     std::span<const std::int32_t> truth) {
  std::map<std::int32_t, std::int64_t> of_found, of_truth;
  std::map<std::pair<std::int32_t, std::int32_t>, std::int64_t> of_both;
  std::set<std::int32_t> objects;
  std::int64_t both = 0, any = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    both += found[i] != 0 && truth[i] != 0 ? 1 : 0;
    any += found[i] != 0 || truth[i] != 0 ? 1 : 0;
    if (found[i] != 0) objects.insert(found[i]);
    if (truth[i] == 0) continue;
    ++of_found[found[i]], ++of_truth[truth[i]], ++of_both[{found[i], truth[i]}];
  }
  SegmentationScore score;
  const double together = pairs_in(of_both), in_found = pairs_in(of_found),
               in_truth = pairs_in(of_truth);
  score.precision = in_found > 0 ? together / in_found : 0;
  score.recall = in_truth > 0 ? together / in_truth : 0;
  score.rand_error = in_found + in_truth > 0 ? 1 - 2 * together / (in_found + in_truth) : 0;
  score.iou = any > 0 ? static_cast<double>(both) / static_cast<double>(any) : 1;
  score.found = static_cast<std::int64_t>(objects.size());
  score.truth = static_cast<std::int64_t>(of_truth.size());
  return score;
}

}  // namespace thalweg::engine
