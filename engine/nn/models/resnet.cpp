// resnet: residual networks (He et al., CVPR 2016) with 18, 34 (basic blocks) or 50 (bottlenecks,
// stride in the 3x3 convolution as usual since) weight layers. Names and order of the parameters as
// in torchvision. The last batch norm of every block may start at weight 0, so that blocks start as
// the identity (Goyal et al., arXiv:1706.02677).
#include <stdexcept>
#include <string>

#include "engine/nn/model_table.h"

namespace thalweg::engine {
namespace {

struct Depth {
  int layers;
  int blocks[4];
  bool bottleneck;
};
constexpr Depth kDepths[] = {
    {18, {2, 2, 2, 2}, false}, {34, {3, 4, 6, 3}, false}, {50, {3, 4, 6, 3}, true}};
constexpr int kExpansion = 4;  // of a bottleneck's last convolution
// Images at least this large get the stem for large images where it is left to us.
constexpr std::int64_t kLargeImage = 64;

class ResnetBuilder {
 public:
  ResnetBuilder(bool zero_gamma, std::string algorithm)
      : zero_gamma_(zero_gamma), algorithm_(std::move(algorithm)) {}

  void conv(const std::string& name, int channels, int kernel, int stride, std::string input = {}) {
    add({"conv2d",
         name,
         {{"channels", channels},
          {"kernel", kernel},
          {"stride", stride},
          {"padding", kernel / 2},
          {"algorithm", algorithm_},
          {"bias", false}}},
        std::move(input));
  }
  void norm(const std::string& name, bool last = false) {
    add({"batch_norm", name, {{"zero_weight", last && zero_gamma_}}});
  }
  void relu(const std::string& name) { add({"relu", name, {}}); }
  void add(LayerSpec spec, std::string input = {}) {
    if (!input.empty()) spec.inputs = {std::move(input)};
    layers.push_back(std::move(spec));
  }
  const std::string& last() const { return layers.back().name; }

  void block(const std::string& name, int width, int stride, bool bottleneck, bool project) {
    const std::string input = last();
    const int out = bottleneck ? width * kExpansion : width;
    conv(name + ".conv1", width, bottleneck ? 1 : 3, bottleneck ? 1 : stride);
    norm(name + ".bn1");
    relu(name + ".relu1");
    conv(name + ".conv2", width, 3, bottleneck ? stride : 1);
    norm(name + ".bn2", !bottleneck);
    if (bottleneck) {
      relu(name + ".relu2");
      conv(name + ".conv3", out, 1, 1);
      norm(name + ".bn3", true);
    }
    const std::string branch = last();
    std::string shortcut = input;
    if (project) {
      conv(name + ".downsample.0", out, 1, stride, input);
      norm(name + ".downsample.1");
      shortcut = last();
    }
    layers.push_back({"add", name + ".add", {}, {branch, shortcut}});
    relu(name + ".relu");
  }

  std::vector<LayerSpec> layers;

 private:
  bool zero_gamma_;
  std::string algorithm_;
};

const Depth& depth_of(const jobspec::Options& options) {
  for (const Depth& depth : kDepths)
    if (depth.layers == options.integer("depth")) return depth;
  throw std::invalid_argument("model.depth: resnet has a depth of 18, 34 or 50, not " +
                              std::to_string(options.integer("depth")));
}

}  // namespace

std::vector<LayerSpec> resnet(const jobspec::Options& options, const InputShape& input) {
  if (input.sample.size() != 3)
    throw std::invalid_argument(
        "model resnet expects images (channels, height, width), the data has " +
        to_text(input.sample));
  const Depth& depth = depth_of(options);
  const std::string stem = options.text("stem");
  const bool large = stem == "imagenet" || (stem == "auto" && input.sample[1] >= kLargeImage);
  ResnetBuilder b(options.flag("zero_gamma"), options.text("convolution"));
  b.conv("conv1", 64, large ? 7 : 3, large ? 2 : 1);
  b.norm("bn1");
  b.relu("relu");
  if (large) b.add({"max_pool2d", "maxpool", {{"kernel", 3}, {"stride", 2}, {"padding", 1}}});
  int channels = 64;
  for (int stage = 0; stage < 4; ++stage) {
    const int width = 64 << stage;
    const int out = depth.bottleneck ? width * kExpansion : width;
    for (int i = 0; i < depth.blocks[stage]; ++i) {
      const int stride = stage > 0 && i == 0 ? 2 : 1;
      b.block("layer" + std::to_string(stage + 1) + "." + std::to_string(i), width, stride,
              depth.bottleneck, stride != 1 || channels != out);
      channels = out;
    }
  }
  b.add({"global_avg_pool", "avgpool", {}});
  b.add({"linear", "fc", {{"outputs", input.outputs()}}});
  return std::move(b.layers);
}

}  // namespace thalweg::engine
