// The layers: a new one is a .cpp per device, its name in each device's layer.h, and a
// row here.
#include "engine/device/cpu/layer.h"
#include "engine/device/cuda/layer.h"
#include "engine/device/reference/layer.h"
#include "engine/nn/graph.h"
#include "jobspec/option.h"

namespace thalweg::engine {
namespace {

using jobspec::Option;

/// Sizes are 32 bits in the kernels.
constexpr double largest = 1 << 24;
constexpr double longest_window = 1 << 10;

Option whole(std::string name, std::string doc, int fallback, double min) {
  return jobspec::whole_option(std::move(name), fallback, min, largest, std::move(doc));
}

Option needed(std::string name, std::string doc) {
  return jobspec::needed(whole(std::move(name), std::move(doc), 1, 1));
}

Option bias() {
  return jobspec::flag_option("bias", true, "add a learned bias");
}

Option factor() {
  Option option = whole("factor", "times in every direction", 2, 1);
  option.max = 64;
  return option;
}

std::vector<Option> window(const char* stride_doc, int stride) {
  std::vector<Option> options{needed("kernel", "length of the window in every direction"),
                              whole("stride", stride_doc, stride, 0),
                              whole("padding", "zeros added on every side", 0, 0)};
  for (Option& option : options)
    option.max = longest_window;
  return options;
}

Option algorithm() {
  return jobspec::choice_option(
      "algorithm", {"auto", "direct", "winograd"},
      "3x3 windows in fp32 on the cpu device; winograd: fewer multiplications, errors near 1e-6, "
      "where there are kernels for it; direct: never; auto = winograd where that is faster");
}

std::vector<Option> operator+(std::vector<Option> a, const std::vector<Option>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

const jobspec::Table<LayerKind>& layer_table() {
  static const jobspec::Table<LayerKind> table(
      "kind of layer",
      {
          {"linear",
           "fully connected",
           {needed("outputs", "features put out"), bias()},
           &reference::linear,
           cpu::linear,
           cuda::linear},
          {"conv2d", "convolution over images",
           std::vector<Option>{needed("channels", "channels put out"), bias(), algorithm()} +
               window("step of the window (0: the kernel's size)", 1),
           &reference::conv2d, cpu::conv2d, cuda::conv2d},
          {"conv3d", "convolution over volumes",
           std::vector<Option>{needed("channels", "channels put out"), bias()} +
               window("step of the window (0: the kernel's size)", 1),
           &reference::conv3d, cpu::conv3d, cuda::conv3d},
          {"conv_transpose2d", "convolution turned round: images grow by the stride",
           std::vector<Option>{needed("channels", "channels put out"), bias()} +
               window("step of the window (0: the kernel's size)", 0),
           &reference::conv_transpose2d, cpu::conv_transpose2d, cuda::conv_transpose2d},
          {"conv_transpose3d", "convolution of volumes turned round",
           std::vector<Option>{needed("channels", "channels put out"), bias()} +
               window("step of the window (0: the kernel's size)", 0),
           &reference::conv_transpose3d, cpu::conv_transpose3d, cuda::conv_transpose3d},
          {"max_pool2d", "largest value of each window",
           window("step of the window (0: the kernel's size)", 0), &reference::max_pool2d,
           cpu::max_pool2d, cuda::max_pool2d},
          {"max_pool3d", "largest value of each window of volumes",
           window("step of the window (0: the kernel's size)", 0), &reference::max_pool3d,
           cpu::max_pool3d, cuda::max_pool3d},
          {"avg_pool2d", "mean of each window, padding not counted",
           window("step of the window (0: the kernel's size)", 0), &reference::avg_pool2d,
           cpu::avg_pool2d, cuda::avg_pool2d},
          {"avg_pool3d", "mean of each window of volumes, padding not counted",
           window("step of the window (0: the kernel's size)", 0), &reference::avg_pool3d,
           cpu::avg_pool3d, cuda::avg_pool3d},
          {"relu", "max(x, 0)", {}, &reference::relu, cpu::relu, cuda::relu},
          {"leaky_relu",
           "x, or slope x below 0",
           {jobspec::real_option("slope", 0.01, 0, 1, "below 0")},
           &reference::leaky_relu,
           cpu::leaky_relu,
           cuda::leaky_relu},
          {"tanh",
           "scale tanh(x)",
           {jobspec::real_option("scale", 1, 1e-6, 1e6, "of what is put out")},
           &reference::tanh,
           cpu::tanh,
           cuda::tanh},
          {"sigmoid", "1 / (1 + exp(-x))", {}, &reference::sigmoid, cpu::sigmoid, cuda::sigmoid},
          {"gelu",
           "x times the normal distribution below x",
           {},
           &reference::gelu,
           cpu::gelu,
           cuda::gelu},
          {"silu", "x / (1 + exp(-x))", {}, &reference::silu, cpu::silu, cuda::silu},
          {"global_avg_pool",
           "mean of each channel",
           {},
           &reference::global_avg_pool,
           cpu::global_avg_pool,
           cuda::global_avg_pool},
          {"batch_norm",
           "normalisation per channel over the shard, or with sync over the whole batch",
           {jobspec::real_option("epsilon", 1e-5, 1e-12, 1, "added to the variance"),
            jobspec::real_option("momentum", 0.1, 0, 1,
                                 "weight of the newest batch in the running statistics"),
            jobspec::flag_option("zero_weight", false, "weights start at 0, not 1"),
            jobspec::flag_option("sync", false, "mean and variance over all shards of all ranks")},
           &reference::batch_norm,
           cpu::batch_norm,
           cuda::batch_norm},
          {"group_norm",
           "normalisation per sample over groups of channels",
           {needed("groups", "equal parts of the channels"),
            jobspec::real_option("epsilon", 1e-5, 1e-12, 1, "added to the variance")},
           &reference::group_norm,
           cpu::group_norm,
           cuda::group_norm},
          {"dropout",
           "leaves out elements at random in training",
           {jobspec::real_option("probability", 0.5, 0, 0.999, "share of elements left out")},
           &reference::dropout,
           cpu::dropout,
           cuda::dropout},
          {"flatten",
           "images become features",
           {},
           &reference::flatten,
           cpu::flatten,
           cuda::flatten},
          {"embedding",
           "a learned row of numbers for each token",
           {needed("tokens", "how many there are"), needed("width", "numbers in a row")},
           &reference::embedding,
           cpu::embedding,
           cuda::embedding,
           1,
           true},
          {"positions",
           "adds a learned row of numbers at each position",
           {},
           &reference::positions,
           cpu::positions,
           cuda::positions},
          {"layer_norm",
           "normalisation over the features of each position",
           {jobspec::real_option("epsilon", 1e-5, 1e-12, 1, "added to the variance")},
           &reference::layer_norm,
           cpu::layer_norm,
           cuda::layer_norm},
          {"attention",
           "positions look at each other: of queries, keys and values side by side",
           {needed("heads", "parts that look on their own"),
            jobspec::flag_option("causal", false,
                                 "a position sees only itself and those before it")},
           &reference::attention,
           cpu::attention,
           cuda::attention},
          {"cross_attention",
           "positions of the first input (queries) look at those of the second (keys and values)",
           {needed("heads", "parts that look on their own")},
           &reference::cross_attention,
           cpu::cross_attention,
           cuda::cross_attention,
           2},
          {"slice",
           "some of the positions",
           {whole("first", "of them, from 0", 0, 0), needed("count", "how many")},
           &reference::slice,
           cpu::slice,
           cuda::slice},
          {"pad",
           "positions of zeros on either side",
           {whole("before", "how many", 0, 0), whole("after", "how many", 0, 0)},
           &reference::pad,
           cpu::pad,
           cuda::pad},
          {"lstm",
           "long short-term memory over positions",
           {needed("width", "features put out"),
            jobspec::flag_option("last", false, "put out the last position only")},
           &reference::lstm,
           cpu::lstm,
           cuda::lstm},
          {"repeat", "the same features at each position",
           std::vector<Option>{needed("positions", "how many")}, &reference::repeat, cpu::repeat,
           cuda::repeat},
          {"add", "sum of inputs of one shape", {}, &reference::add, cpu::add, cuda::add, 0},
          {"concat",
           "inputs side by side: channels of images and volumes, else features",
           {},
           &reference::concat,
           cpu::concat,
           cuda::concat,
           0},
          {"upsample", "repeats every pixel or voxel", std::vector<Option>{factor()},
           &reference::upsample, cpu::upsample, cuda::upsample},
      });
  return table;
}

std::string describe_layers() {
  std::string text;
  for (const LayerKind& kind : layer_table()) {
    text += kind.name + ": " + kind.doc + "\n";
    for (const Option& option : kind.options)
      text += "  " + option.name + ": " + option.doc + " (" + jobspec::expected_of(option) +
              (option.required ? "; needed" : "; " + option.fallback.to_text()) + ")\n";
  }
  return text;
}

}  // namespace thalweg::engine
