// CIFAR-10 and CIFAR-100, binary version (cs.toronto.edu/~kriz/cifar.html): records of one label
// (CIFAR-100: coarse and fine) and 3 x 32 x 32 bytes.
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

#include "engine/data/header.h"
#include "engine/data/mapped_file.h"
#include "engine/data/sets.h"
#include "engine/data/table.h"

namespace thalweg::engine::data {
namespace {

constexpr std::size_t kPlane = 32 * 32;
constexpr std::size_t kPixels = 3 * kPlane;
constexpr const char* kTestDoc = "validate on the 10,000 test images; trains on all of the others";

struct CifarKind {
  std::vector<const char*> files;
  const char* test_file;
  std::size_t label_bytes;
  std::size_t label_at;  ///< which of them is the label
  int classes;
  // Of the training images: mean and standard deviation of p / 255, by colour.
  std::array<double, 3> mean, deviation;
};

/// By colour.
StoredForm stored_form(const CifarKind& kind) {
  StoredForm form;
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t p = 0; p < 256; ++p)
      form.values.push_back(
          static_cast<float>((static_cast<double>(p) / 255 - kind.mean[c]) / kind.deviation[c]));
  return form;
}

SampleForm sample_form(const CifarKind& kind) {
  return {.input = {3, 32, 32}, .classes = kind.classes};
}

std::size_t record_bytes(const CifarKind& kind) {
  return kind.label_bytes + kPixels;
}

void require_whole_records(const MappedFile& file, const CifarKind& kind) {
  const std::size_t size = file.bytes().size(), rest = size % record_bytes(kind);
  if (rest != 0)
    throw DataError(file.file(), static_cast<std::int64_t>(size - rest),
                    "the last record has " + std::to_string(rest) + " bytes instead of " +
                        std::to_string(record_bytes(kind)));
}

class Cifar final : public Dataset {
 public:
  Cifar(const Options& options, const std::filesystem::path& dir, const CifarKind& kind,
        const std::vector<const char*>& files)
      : Dataset(sample_form(kind)),
        label_at_(kind.label_at),
        record_(record_bytes(kind)),
        stored_(stored_form(kind)) {
    for (const char* name : files) {
      const MappedFile file(local_file(options, dir / name));
      take(file, kind);
    }
  }
  std::size_t size() const override { return bytes_.size() / record_; }
  const StoredForm* stored() const override { return &stored_; }
  const std::uint8_t* stored_sample(std::size_t index) const override {
    return bytes_.data() + (index + 1) * record_ - kPixels;
  }
  void copy_labels(std::size_t index, std::int32_t* out) const override {
    *out = bytes_[index * record_ + label_at_];
  }

 private:
  void take(const MappedFile& file, const CifarKind& kind) {
    const auto bytes = file.bytes();
    require_whole_records(file, kind);
    for (std::size_t at = label_at_; at < bytes.size(); at += record_)
      if (bytes[at] >= kind.classes)
        throw DataError(file.file(), static_cast<std::int64_t>(at),
                        "label " + std::to_string(bytes[at]) + ", but there are " +
                            std::to_string(kind.classes) + " classes");
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }

  std::size_t label_at_, record_;
  std::vector<std::uint8_t> bytes_;
  StoredForm stored_;
};

std::filesystem::path folder(const Options& options, const char* name) {
  if (!options.is_auto("dir")) return options.text("dir");
  const char* root = std::getenv("THALWEG_DATA");
  if (root != nullptr && *root != '\0') return std::filesystem::path(root) / name;
  throw std::invalid_argument(std::string("data.dir: the folder of the ") + name +
                              " files is not known; set data.dir, or $THALWEG_DATA to the folder "
                              "that holds " +
                              name);
}

std::unique_ptr<Dataset> read(const Options& options, const std::filesystem::path& dir,
                              const CifarKind& kind, const std::vector<const char*>& files,
                              HeaderFacts* facts) {
  if (facts == nullptr) return std::make_unique<Cifar>(options, dir, kind, files);
  std::size_t bytes = 0;
  for (const char* name : files) {
    const MappedFile file(local_file(options, dir / name));
    require_whole_records(file, kind);
    bytes += file.bytes().size();
  }
  facts->held_bytes += bytes;
  return std::make_unique<HeaderOnly>(sample_form(kind), bytes / record_bytes(kind),
                                      stored_form(kind));
}

std::unique_ptr<Dataset> load(const Options& options, const char* name, const CifarKind& kind,
                              HeaderFacts* facts) {
  const std::filesystem::path dir = folder(options, name);
  auto training = read(options, dir, kind, kind.files, facts);
  const std::size_t all = training->size();
  return with_test_images(options, std::move(training), all,
                          [&] { return read(options, dir, kind, {kind.test_file}, facts); });
}

std::unique_ptr<Dataset> load10(const Options& options, HeaderFacts* facts) {
  const CifarKind kind{{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                        "data_batch_4.bin", "data_batch_5.bin"},
                       "test_batch.bin",
                       1,
                       0,
                       10,
                       {0.4914, 0.4822, 0.4465},
                       {0.2470, 0.2435, 0.2616}};
  return load(options, "cifar-10", kind, facts);
}

std::unique_ptr<Dataset> load100(const Options& options, HeaderFacts* facts) {
  const bool fine = options.text("labels") == "fine";
  const CifarKind kind{{"train.bin"},           "test.bin",      2,
                       fine ? 1u : 0u,          fine ? 100 : 20, {0.5071, 0.4865, 0.4409},
                       {0.2673, 0.2564, 0.2762}};
  return load(options, "cifar-100", kind, facts);
}

jobspec::Option dir_option(const char* doc) {
  return path_option("dir", "auto", doc);
}

}  // namespace

Row cifar10() {
  return {"cifar-10",
          "50,000 colour 32x32 images, 10 classes (binary version)",
          {dir_option("folder of data_batch_1.bin to data_batch_5.bin (and test_batch.bin); auto = "
                      "$THALWEG_DATA/cifar-10"),
           test_option(kTestDoc), test_set_option()},
          load10};
}

Row cifar100() {
  return {"cifar-100",
          "50,000 colour 32x32 images, 100 classes (binary version)",
          {dir_option("folder of train.bin (and test.bin); auto = $THALWEG_DATA/cifar-100"),
           choice_option("labels", {"fine", "coarse"}, "100 fine classes or 20 coarse ones"),
           test_option(kTestDoc), test_set_option()},
          load100};
}

}  // namespace thalweg::engine::data
