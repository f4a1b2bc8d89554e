// --flood-fill: the trial's network at its newest or best checkpoint, a volume out of a file.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>

#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/device/batch.h"
#include "engine/device/executor.h"
#include "engine/train/flood_filling.h"
#include "engine/train/restored.h"

namespace thalweg::engine {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& reason) {
  throw std::invalid_argument("--flood-fill: " + reason);
}

/// (c, d, h, w) of an array of that or (d, h, w).
std::array<std::int64_t, 4> volume_shape(const Array& array) {
  if (array.shape.size() != 3 && array.shape.size() != 4)
    throw DataError(array.name, DataError::kNoOffset,
                    "expected (d, h, w) or (c, d, h, w), found " +
                        std::to_string(array.shape.size()) + " dimensions");
  std::array<std::int64_t, 4> shape{1, 1, 1, 1};
  std::copy(array.shape.rbegin(), array.shape.rend(), shape.rbegin());
  return shape;
}

/// The file's numbers, scaled as the trial's inputs are.
std::vector<float> read_volume(const Array& array, const jobspec::Value& data) {
  double scale[2] = {0, 1};
  std::size_t which = 0;
  for (const char* name : {"mean", "deviation"}) {
    const jobspec::Value* const value = data.find(name);
    if (value != nullptr && !value->is_number())
      refuse(std::string("data.") + name +
             " of the trial is not one number; scale the volume's channels and store them, and set "
             "it to a number in a copy of the trial");
    if (value != nullptr) scale[which] = value->as_double();
    ++which;
  }
  std::vector<float> values(static_cast<std::size_t>(array.count()));
  array.read(0, array.count(), scale[0], scale[1], values.data());
  return values;
}

std::vector<std::int32_t> read_truth(const std::string& where, const VolumeSize& size) {
  const Array array = read_array(where);
  if (array.shape != std::vector<std::int64_t>(size.begin(), size.end()) || !is_integer(array.type))
    throw DataError(array.name, DataError::kNoOffset,
                    "expected whole numbers of the volume's depth, height and width");
  std::vector<std::int32_t> truth(voxels_of(size));
  for (std::size_t i = 0; i < truth.size(); ++i)
    truth[i] = static_cast<std::int32_t>(array.integer(static_cast<std::int64_t>(i)));
  return truth;
}

void write_npy(const fs::path& file, const VolumeSize& size,
               const std::vector<std::int32_t>& numbers) {
  std::ofstream out(file, std::ios::binary);
  out << npy_header("<i4", {size.begin(), size.end()});
  out.write(reinterpret_cast<const char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof numbers[0]));
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

/// The trial's model, one field of view at a time.
class Network {
 public:
  Network(const fs::path& file, bool best) : restored_(file, {{}, best}, 1) {
    const SampleForm& form = restored_.dataset->form();
    if (form.input.size() != 4 || form.input[0] < 2)
      refuse("the trial's samples are no volumes with the known part as their last channel");
    channels_ = form.input[0] - 1;
    std::copy(form.input.begin() + 1, form.input.end(), field_.begin());
    if (form.targets != static_cast<std::int64_t>(voxels_of(field_)))
      refuse("the trial's samples have not one target for each voxel");
    executor_ = restored_.model->executor();
    weights_ = restored_.weights();
    targets_.resize(voxels_of(field_));
  }

  std::int64_t channels() const { return channels_; }
  const VolumeSize& field() const { return field_; }
  jobspec::Value data() const {
    const jobspec::Value* const data = restored_.trial.train.find("data");
    return data != nullptr ? *data : jobspec::Value();
  }
  std::int64_t step() const { return restored_.step; }

  void operator()(const float* inputs, float* logits) {
    ShardResult result;
    Shard shard;
    shard.batch.inputs = inputs;
    shard.batch.targets = targets_.data();
    shard.batch.samples = 1;
    shard.batch.round = 1;
    shard.parameters = weights_;
    shard.running = restored_.running.data();
    shard.result = &result;
    shard.outputs = logits;
    executor_->evaluate(nullptr, shard);
  }

 private:
  Restored restored_;
  std::unique_ptr<Executor> executor_;
  const float* weights_ = nullptr;
  std::vector<float> targets_;  ///< unknown: the loss is not looked at
  std::int64_t channels_ = 0;
  VolumeSize field_{};
};

}  // namespace

std::string flood_fill_of_trial(const std::string& trial_file, const FloodFiles& files,
                                bool as_json, bool best) {
  if (files.volume.empty()) refuse("which volume? Give --volume FILE");
  Network network(fs::path(trial_file), best);
  const Array array = read_array(files.volume);
  const auto shape = volume_shape(array);
  if (shape[0] != network.channels())
    throw DataError(array.name, DataError::kNoOffset,
                    std::to_string(shape[0]) + " channels, the trial's volumes have " +
                        std::to_string(network.channels()) + " beside the known part");
  const VolumeSize size{shape[1], shape[2], shape[3]};
  std::vector<std::int32_t> truth;
  if (!files.truth.empty()) truth = read_truth(files.truth, size);
  FloodRule rule;
  rule.field = network.field();
  const std::vector<std::int32_t> found =
      flood_fill(read_volume(array, network.data()), shape[0], size, rule, std::ref(network));
  const fs::path out = files.out.empty()
                           ? fs::absolute(trial_file).parent_path() / "segmentation.npy"
                           : fs::path(files.out);
  write_npy(out, size, found);
  const SegmentationScore score = score_segmentation(found, truth.empty() ? found : truth);
  jobspec::Value told =
      jobspec::Map{{"step", network.step()}, {"objects", score.found}, {"out", out.string()}};
  if (!truth.empty()) {
    told.set("true_objects", score.truth);
    told.set("adapted_rand_error", score.rand_error);
    told.set("precision", score.precision);
    told.set("recall", score.recall);
    told.set("iou", score.iou);
  }
  if (as_json) return told.to_json() + "\n";
  std::string text;
  for (const auto& [key, value] : told.as_map())
    text += key + std::string(key.size() < 20 ? 20 - key.size() : 1, ' ') + value.to_text() + "\n";
  return text;
}

}  // namespace thalweg::engine
