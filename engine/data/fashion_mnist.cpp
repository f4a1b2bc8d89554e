// Fashion-MNIST (Xiao et al., arXiv:1708.07747): 60,000 grey 28x28 images of 10 kinds of clothing.
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "engine/data/idx.h"
#include "engine/data/sets.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

// Of the 60,000 training images: mean and standard deviation of p / 255.
constexpr double kMean = 0.286040, kDeviation = 0.353024;
constexpr const char* kDebianFolder = "/usr/share/datasets/fashion-mnist";

std::filesystem::path folder(const Options& options) {
  const std::string& dir = options.text("dir");
  if (!dir.empty() && dir != "auto") return dir;
  const char* root = std::getenv("THALWEG_DATA");
  if (root != nullptr && *root != '\0') return std::filesystem::path(root) / "fashion-mnist";
  return kDebianFolder;
}

std::filesystem::path find(const std::filesystem::path& dir, const std::string& name) {
  for (const char* ending : {".gz", ""})
    if (std::filesystem::exists(dir / (name + ending))) return dir / (name + ending);
  throw DataError(dir / (name + ".gz"), DataError::kNoOffset,
                  "no such file. Install Debian's package dataset-fashion-mnist, or put the four "
                  "files into a folder and name it in data.dir or as $THALWEG_DATA/fashion-mnist");
}

std::unique_ptr<Dataset> load(const Options& options, const std::string& name, HeaderFacts* facts) {
  const std::filesystem::path dir = folder(options);
  IdxPair pair;
  pair.images = local_file(options, find(dir, name + "-images-idx3-ubyte"));
  pair.labels = local_file(options, find(dir, name + "-labels-idx1-ubyte"));
  pair.mean = kMean;
  pair.deviation = kDeviation;
  pair.classes = 10;
  return load_idx_pair(pair, facts);
}

std::unique_ptr<Dataset> make_fashion_mnist(const Options& options, HeaderFacts* facts) {
  auto training = load(options, "train", facts);
  // As many as train where a part of them validates.
  const std::size_t all = training->size();
  return with_test_images(options, std::move(training), all - all / 12,
                          [&] { return load(options, "t10k", facts); });
}

}  // namespace

Row fashion_mnist() {
  return {"fashion-mnist",
          "60,000 grey 28x28 images of clothing, 10 classes",
          {path_option(
               "dir", "auto",
               std::string("folder of the IDX files; auto = $THALWEG_DATA/fashion-mnist, else ") +
                   kDebianFolder),
           test_option("validate on the 10,000 test images; trains on the first 55,000 others"),
           test_set_option()},
          make_fashion_mnist};
}

}  // namespace thalweg::engine::data
