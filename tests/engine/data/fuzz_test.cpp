// Damaged data files from a seeded generator: each gives a message or samples, never a crash (the
// asan preset makes more of them crashes). How many: tests/support/fuzz.h. Damaged HDF5 files:
// array_test.cpp.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/data/bpe.h"
#include "engine/data/dataset.h"
#include "jobspec/value.h"
#include "tests/support/fuzz.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using test::damaged;

/// Reads every sample of a small dataset.
void use(const Value& options) {
  try {
    const auto data = load_dataset(options);
    const SampleForm& form = data->form();
    if (input_floats(form) > 100000 || form.labels > 100000 || form.targets > 100000) return;
    std::vector<float> inputs(input_floats(form)), targets(static_cast<std::size_t>(form.targets));
    std::vector<std::int32_t> labels(static_cast<std::size_t>(form.labels));
    for (std::size_t i = 0; i < std::min<std::size_t>(data->size(), 20); ++i) {
      data->copy(i, inputs.data());
      if (form.labels > 0) data->copy_labels(i, labels.data());
      if (form.targets > 0) data->copy_targets(i, targets.data());
      for (const std::int32_t label : labels)
        ASSERT_TRUE(label >= kNoLabel && label < data->classes());
    }
  } catch (const DataError& e) {
    ASSERT_NE(std::string(e.what()), "");
  } catch (const std::invalid_argument&) {
  }
}

struct Source {
  std::string good;  ///< the file's bytes
  std::string name;  ///< it is written to
  Value options;
};

class Fuzz : public testing::Test {
 protected:
  std::string path(const char* name) const { return (folder_.path() / name).string(); }
  void run(const std::vector<Source>& sources) {
    const auto inputs = test::fuzz_range(1000);
    for (int number = inputs.first; number < inputs.end(); ++number) {
      SCOPED_TRACE("input " + std::to_string(number));
      const Source& source = sources[static_cast<std::size_t>(number) % sources.size()];
      std::mt19937 random(20260720u + static_cast<unsigned>(number));
      test::write_file(folder_.path() / source.name, damaged(source.good, random));
      use(source.options);
    }
  }
  test::TempDir folder_;
};

std::string valid_file(const char* name) {
  return (std::filesystem::path(THALWEG_SOURCE_DIR) / "tests/engine/data/valid" / name).string();
}

TEST_F(Fuzz, DamagedFilesGiveAMessageOrSamples) {
  const auto arrays = [](const std::string& inputs, const char* key, const std::string& answers) {
    return Value(Map{{"name", "arrays"}, {"inputs", inputs}, {key, answers}});
  };
  std::string record(3073, '\x05'), tokens;
  for (int i = 0; i < 40; ++i)
    tokens += std::string{static_cast<char>(i), '\0'};
  for (int i = 1; i <= 5; ++i)
    test::write_file(folder_.path() / ("data_batch_" + std::to_string(i) + ".bin"), record);
  test::write_file(path("text.txt"), "the theme of the thesis");
  const auto read = [](const char* name) { return test::read_file(valid_file(name)); };
  run({
      {read("inputs.npy"), "x.npy", arrays(path("x.npy"), "targets", valid_file("inputs.npy"))},
      {read("inputs.npy"), "x.npy", arrays(valid_file("inputs.npy"), "targets", path("x.npy"))},
      {read("stored.npz"), "s.npz", arrays(path("s.npz") + ":x", "labels", path("s.npz") + ":y")},
      {read("deflated.npz"), "d.npz", arrays(path("d.npz") + ":x", "labels", path("d.npz") + ":y")},
      {read("images.idx"), "i.idx",
       Map{{"name", "idx"}, {"images", path("i.idx")}, {"labels", valid_file("labels.idx")}}},
      {read("images.idx.gz"), "i.idx.gz",
       Map{{"name", "idx"}, {"images", path("i.idx.gz")}, {"labels", valid_file("labels.idx")}}},
      {read("labels.idx"), "l.idx",
       Map{{"name", "idx"}, {"images", valid_file("images.idx")}, {"labels", path("l.idx")}}},
      {record + record, "data_batch_5.bin",
       Map{{"name", "cifar-10"}, {"dir", folder_.path().string()}}},
      {tokens, "t.bin", Map{{"name", "tokens"}, {"file", path("t.bin")}, {"length", 4}}},
      {"#version: 0.2\nt h\nth e\n\xc4\xa0 the\n", "merges.txt",
       Map{{"name", "text"},
           {"file", path("text.txt")},
           {"vocabulary", "bpe"},
           {"merges", path("merges.txt")},
           {"length", 2}}},
  });
}

}  // namespace
}  // namespace thalweg::engine
