// unet: segmentation. Down: two convolutions 3x3 and a max pool 2 a level; up: a transposed
// convolution 2, what the level had on the way down beside it, two convolutions; 1x1 to the
// classes. Form ronneberger (Ronneberger et al., MICCAI 2015, with same-size convolutions as usual
// since): channels double from level to level. Form cicek (Cicek et al., MICCAI 2016, for volumes):
// they double within a level, before its pool.
#include <stdexcept>
#include <string>

#include "engine/nn/model_table.h"

namespace thalweg::engine {
namespace {

class UnetBuilder {
 public:
  UnetBuilder(bool volumes, bool batch_norm, bool doubling_within)
      : d_(volumes ? "3d" : "2d"), batch_norm_(batch_norm), doubling_within_(doubling_within) {}

  void conv(const std::string& name, std::int64_t channels) {
    add({"conv" + d_,
         name + ".conv",
         {{"channels", channels}, {"kernel", 3}, {"padding", 1}, {"bias", !batch_norm_}}});
    if (batch_norm_) add({"batch_norm", name + ".bn", {}});
    add({"relu", name + ".relu", {}});
  }
  /// Returns the name of what the level puts out.
  std::string down(const std::string& name, std::int64_t channels) {
    conv(name + ".1", channels);
    conv(name + ".2", outputs(channels));
    return layers.back().name;
  }
  void pool(const std::string& name) { add({"max_pool" + d_, name, {{"kernel", 2}}}); }
  void up(const std::string& name, std::int64_t channels, const std::string& beside) {
    add({"conv_transpose" + d_,
         name + ".up",
         {{"channels", doubling_within_ ? 2 * outputs(channels) : channels},
          {"kernel", 2},
          {"bias", !doubling_within_}}});
    add({"concat", name + ".concat", {}, {beside, name + ".up"}});
    conv(name + ".1", outputs(channels));
    conv(name + ".2", outputs(channels));
  }
  void out(std::int64_t channels) {
    add({"conv" + d_, "out", {{"channels", channels}, {"kernel", 1}}});
  }

  std::vector<LayerSpec> layers;

 private:
  void add(LayerSpec spec) { layers.push_back(std::move(spec)); }
  std::int64_t outputs(std::int64_t channels) const {
    return doubling_within_ ? 2 * channels : channels;
  }

  std::string d_;
  bool batch_norm_, doubling_within_;
};

}  // namespace

std::int64_t channels_for_pixels(const char* model, const InputShape& input) {
  const std::int64_t pixels = elements(input.sample) / input.sample.front();
  if (input.classes > 0 && input.labels == pixels) return input.classes;
  if (input.targets > 0 && input.targets % pixels == 0) return input.targets / pixels;
  throw std::invalid_argument(std::string("model ") + model +
                              " expects a label or targets for each of the " +
                              std::to_string(pixels) + " pixels of a sample, the data has " +
                              std::to_string(input.classes > 0 ? input.labels : input.targets));
}

std::vector<LayerSpec> unet(const jobspec::Options& options, const InputShape& input) {
  const bool volumes = input.sample.size() == 4;
  if (!volumes && input.sample.size() != 3)
    throw std::invalid_argument("model unet expects images or volumes, the data has " +
                                to_text(input.sample));
  const std::int64_t channels_out = channels_for_pixels("unet", input);
  const auto number = [&](const char* name, std::int64_t image, std::int64_t volume) {
    return options.integer_or(name, volumes ? volume : image);
  };
  const std::int64_t depth = number("depth", 4, 3), channels = number("channels", 64, 32);
  const std::string form = options.text("form");
  for (std::size_t d = 1; d < input.sample.size(); ++d)
    if (input.sample[d] % (std::int64_t{1} << depth) != 0)
      throw std::invalid_argument("model.depth: unet halves its input " + std::to_string(depth) +
                                  " times (depth), which does not fit " + to_text(input.sample));
  UnetBuilder b(volumes, options.flag("batch_norm"),
                form == "cicek" || (form == "auto" && volumes));
  std::vector<std::string> beside;
  for (std::int64_t level = 0; level < depth; ++level) {
    const std::string name = "down" + std::to_string(level);
    beside.push_back(b.down(name, channels << level));
    b.pool(name + ".pool");
  }
  b.down("bottom", channels << depth);
  for (std::int64_t level = depth; level-- > 0;)
    b.up("up" + std::to_string(level), channels << level, beside[static_cast<std::size_t>(level)]);
  b.out(channels_out);
  return std::move(b.layers);
}

}  // namespace thalweg::engine
