// Fashion-MNIST (Xiao et al., arXiv:1708.07747): 60,000 grey 28x28 images of 10 kinds of clothing.
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "engine/data/idx.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

// Of the 60,000 training images: mean and standard deviation of p / 255.
constexpr double kMean = 0.286040, kDeviation = 0.353024;
constexpr const char* kDebianFolder = "/usr/share/datasets/fashion-mnist";

std::filesystem::path folder(const jobspec::Value& tree) {
  const jobspec::Value dir = option(tree, fashion_mnist(), "dir");
  if (!dir.is_null() && !dir.as_string().empty() && dir.as_string() != "auto")
    return dir.as_string();
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

/// The first eleven twelfths of one set, then all of the other as the validation samples. Both are
/// stored and normalised alike.
class WithTestSet final : public Dataset {
 public:
  WithTestSet(std::unique_ptr<Dataset> training, std::unique_ptr<Dataset> test)
      : Dataset(training->form()),
        training_(std::move(training)),
        test_(std::move(test)),
        kept_(training_->size() - training_->size() / 12) {}
  std::size_t size() const override { return kept_ + test_->size(); }
  std::size_t own_validation() const override { return test_->size(); }
  const StoredForm* stored() const override { return training_->stored(); }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    const auto [set, at] = place(index);
    return set->stored_sample(at);
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    const auto [set, at] = place(index);
    set->copy_labels(at, out);
  }

 private:
  std::pair<const Dataset*, std::size_t> place(std::size_t index) const {
    if (index < kept_) return {training_.get(), index};
    return {test_.get(), index - kept_};
  }

  std::unique_ptr<Dataset> training_, test_;
  std::size_t kept_;
};

std::unique_ptr<Dataset> load(const jobspec::Value& tree, const std::string& name) {
  const std::filesystem::path dir = folder(tree);
  IdxPair pair;
  pair.images = local_file(tree, find(dir, name + "-images-idx3-ubyte"));
  pair.labels = local_file(tree, find(dir, name + "-labels-idx1-ubyte"));
  pair.mean = kMean;
  pair.deviation = kDeviation;
  pair.classes = 10;
  return load_idx_pair(pair);
}

std::unique_ptr<Dataset> make(const jobspec::Value& tree) {
  if (!option(tree, fashion_mnist(), "test").as_bool()) return load(tree, "train");
  auto training = load(tree, "train"), test = load(tree, "t10k");
  if (training->sample_shape() != test->sample_shape())
    throw std::invalid_argument("data.dir: training and test images differ in size");
  return std::make_unique<WithTestSet>(std::move(training), std::move(test));
}

}  // namespace

Row fashion_mnist() {
  return {"fashion-mnist",
          "60,000 grey 28x28 images of clothing, 10 classes",
          {text_option(
               "dir", "auto",
               std::string("folder of the IDX files; auto = $THALWEG_DATA/fashion-mnist, else ") +
                   kDebianFolder),
           flag_option("test", false,
                       "validate on the 10,000 test images; trains on the first 55,000 others")},
          make};
}

}  // namespace thalweg::engine::data
