// --flood-fill: the trial's network at its newest checkpoint, a volume out of a file.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>

#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/device/batch.h"
#include "engine/device/lane.h"
#include "engine/train/checkpoint.h"
#include "engine/train/factory.h"
#include "engine/train/flood_filling.h"
#include "engine/train/options.h"
#include "jobspec/complete.h"
#include "jobspec/schema.h"
#include "jobspec/trial.h"

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
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (" +
                       std::to_string(size[0]) + ", " + std::to_string(size[1]) + ", " +
                       std::to_string(size[2]) + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream out(file, std::ios::binary);
  out.write("\x93NUMPY\x01\x00", 8);
  out.put(static_cast<char>(header.size() % 256)).put(static_cast<char>(header.size() / 256));
  out << header;
  out.write(reinterpret_cast<const char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof numbers[0]));
  if (!out.flush()) throw std::runtime_error("cannot write " + file.string());
}

/// The trial's model with the weights of its newest checkpoint.
class Network {
 public:
  explicit Network(const fs::path& file) : trial_(jobspec::read_trial(file)) {
    const Factory factory(jobspec::complete_train(trial_.train, train_schema(), file.string()));
    data_ = trial_.train.find("data") != nullptr ? *trial_.train.find("data") : jobspec::Value();
    const auto dataset = factory.dataset();
    const SampleForm& form = dataset->form();
    if (form.input.size() != 4 || form.input[0] < 2)
      refuse("the trial's samples are no volumes with the known part as their last channel");
    channels_ = form.input[0] - 1;
    std::copy(form.input.begin() + 1, form.input.end(), field_.begin());
    if (form.targets != static_cast<std::int64_t>(voxels_of(field_)))
      refuse("the trial's samples have not one target for each voxel");
    Settings on_host;
    on_host.device = "cpu";
    model_ = factory.model(input_shape(*dataset), 1, on_host);
    load(file);
    lane_ = model_->lane();
    targets_.resize(voxels_of(field_));
  }

  std::int64_t channels() const { return channels_; }
  const VolumeSize& field() const { return field_; }
  const jobspec::Value& data() const { return data_; }
  std::int64_t step() const { return step_; }

  void operator()(const float* inputs, float* logits) {
    ShardResult result;
    Shard shard;
    shard.batch.inputs = inputs;
    shard.batch.targets = targets_.data();
    shard.batch.samples = 1;
    shard.batch.round = 1;
    shard.parameters = parameters_.floats();
    shard.running = running_.floats();
    shard.result = &result;
    shard.outputs = logits;
    lane_->evaluate(nullptr, shard);
  }

 private:
  void load(const fs::path& file) {
    std::vector<fs::path> folders{fs::absolute(file).parent_path() / "checkpoints"};
    folders.insert(folders.end(), trial_.resume.begin(), trial_.resume.end());
    const FoundCheckpoint found = newest_checkpoint(folders);
    if (!found.checkpoint) refuse("there is no checkpoint in " + folders.front().string());
    const Checkpoint& c = *found.checkpoint;
    if (c.parameters.size() != static_cast<std::size_t>(model_->parameter_count()) ||
        c.running.size() != model_->statistics())
      throw BadCheckpoint(found.file.string() + ": its sizes are not those of this model");
    step_ = c.step;
    parameters_ = Buffer::of_floats(model_->parameter_floats());
    running_ = Buffer::of_floats(std::max<std::size_t>(1, model_->statistics()));
    model_->from_plain(c.parameters.data(), parameters_.floats());
    std::copy(c.running.begin(), c.running.end(), running_.floats());
  }

  jobspec::Trial trial_;
  jobspec::Value data_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Lane> lane_;
  Buffer parameters_, running_;
  std::vector<float> targets_;  ///< unknown: the loss is not looked at
  std::int64_t channels_ = 0, step_ = 0;
  VolumeSize field_{};
};

}  // namespace

std::string flood_fill_of_trial(const std::string& trial_file, const FloodFiles& files,
                                bool as_json) {
  if (files.volume.empty()) refuse("which volume? Give --volume FILE");
  Network network{fs::path(trial_file)};
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
