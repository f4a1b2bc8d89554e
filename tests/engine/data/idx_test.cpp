// The IDX reader on good files and on one file per mistake.
#include "engine/data/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace thalweg::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const std::filesystem::path kFolder =
    std::filesystem::path(THALWEG_SOURCE_DIR) / "tests/engine/data";

TEST(Idx, ReadsPlainAndGzipAlike) {
  const Idx plain = read_idx(kFolder / "valid/images.idx");
  const Idx packed = read_idx(kFolder / "valid/images.idx.gz");
  EXPECT_THAT(plain.sizes, ElementsAre(3u, 2u, 2u));
  EXPECT_THAT(plain.values, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_EQ(packed.sizes, plain.sizes);
  EXPECT_EQ(packed.values, plain.values);
}

struct Mistake {
  const char* file;
  const char* offset;  // as in the message
  const char* reason;
};
class BadIdx : public testing::TestWithParam<Mistake> {};

TEST_P(BadIdx, NamesFileOffsetAndReason) {
  try {
    read_idx(kFolder / "invalid" / GetParam().file);
    FAIL() << "accepted";
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), HasSubstr(GetParam().file));
    EXPECT_THAT(e.what(), HasSubstr(GetParam().offset));
    EXPECT_THAT(e.what(), HasSubstr(GetParam().reason));
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadIdx,
    testing::Values(Mistake{"empty.idx", "offset 0:", "too short"},
                    Mistake{"bad_magic.idx", "offset 0:", "not an IDX file"},
                    Mistake{"float_values.idx", "offset 2:", "value type 13"},
                    Mistake{"no_dimensions.idx", "offset 3:", "found 0"},
                    Mistake{"header_cut.idx", "offset 10:", "header ends too early"},
                    Mistake{"dimension_zero.idx", "offset 8:", "size 0"},
                    Mistake{"impossible_size.idx", "offset 8:", "impossible size"},
                    Mistake{"huge_promise.idx", "offset 15:", "promises 214748364700 values"},
                    Mistake{"values_cut.idx", "offset 25:", "ends too early"},
                    Mistake{"values_too_many.idx",
                            "offset 28:", "more data than the header promises"},
                    Mistake{"gzip_cut.idx.gz", "offset", "end too early"},
                    Mistake{"gzip_checksum.idx.gz", "offset", "damaged compressed data"},
                    Mistake{"is_not_there.idx", "is_not_there.idx: ", "No such file"}),
    [](const auto& mistake) {
      std::string name = mistake.param.file;
      for (char& c : name)
        if (c == '.') c = '_';
      return name;
    });

IdxPair pair_with_labels(const char* labels) {
  IdxPair pair;
  pair.images = kFolder / "valid/images.idx";
  pair.labels = kFolder / labels;
  return pair;
}

TEST(IdxPair, NormalisesPixels) {
  IdxPair pair = pair_with_labels("valid/labels.idx");
  pair.mean = 0.5;
  pair.deviation = 0.25;
  const auto dataset = load_idx_pair(pair);
  EXPECT_THAT(dataset->sample_shape(), ElementsAre(1, 2, 2));
  EXPECT_EQ(dataset->classes(), 3);
  ASSERT_EQ(dataset->size(), 3u);
  float sample[4];
  dataset->copy(2, sample);
  EXPECT_FLOAT_EQ(sample[3], (11.0f / 255 - 0.5f) / 0.25f);
  EXPECT_EQ(dataset->label(2), 2);
}

std::string idx_complaint(const IdxPair& pair) {
  try {
    load_idx_pair(pair);
  } catch (const DataError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(IdxPair, RefusesFilesThatDoNotFitTogether) {
  EXPECT_THAT(idx_complaint(pair_with_labels("invalid/labels_too_few.idx")),
              HasSubstr("labels_too_few.idx: offset 4: 2 labels for 3 images"));
  EXPECT_THAT(idx_complaint(pair_with_labels("invalid/labels_two_dimensions.idx")),
              HasSubstr("labels need 1 dimension, found 2"));
  IdxPair pair = pair_with_labels("invalid/label_out_of_range.idx");
  pair.classes = 3;
  EXPECT_THAT(idx_complaint(pair),
              HasSubstr("offset 9: label 7 of image 1, but there are 3 classes"));
}

}  // namespace
}  // namespace thalweg::engine
