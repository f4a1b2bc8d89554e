// Token files, texts and byte pairs.
#include "engine/data/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/data/bpe.h"
#include "jobspec/value.h"
#include "tests/engine/data/complaint.h"
#include "tests/support/process.h"

namespace thalweg::engine {
namespace {

using jobspec::Map;
using jobspec::Value;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string u16_bytes(const std::vector<std::uint16_t>& tokens) {
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size() * 2};
}

struct Sample {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
};
Sample sample(const Dataset& data, std::size_t index) {
  Sample s;
  s.inputs.resize(input_floats(data.form()));
  s.labels.resize(static_cast<std::size_t>(data.form().labels));
  data.copy(index, s.inputs.data());
  data.copy_labels(index, s.labels.data());
  return s;
}

TEST(Tokens, WindowsPredictTheNextToken) {
  const test::TempDir folder;
  const std::string file = (folder.path() / "tokens.bin").string();
  test::write_file(file, u16_bytes({5, 6, 7, 8, 9, 10, 11, 300}));
  const auto data = load_dataset(Map{{"name", "tokens"}, {"file", file}, {"length", 3}});
  EXPECT_EQ(data->form().vocabulary, 301);
  EXPECT_EQ(data->classes(), 301);
  ASSERT_EQ(data->size(), 2u);  // the last of eight only predicts nothing
  EXPECT_THAT(sample(*data, 1).inputs, ElementsAre(8, 9, 10));
  EXPECT_THAT(sample(*data, 1).labels, ElementsAre(9, 10, 11));
  const auto dense = load_dataset(
      Map{{"name", "tokens"}, {"file", file}, {"length", 3}, {"stride", 1}, {"vocabulary", 512}});
  ASSERT_EQ(dense->size(), 5u);
  EXPECT_EQ(dense->classes(), 512);
  EXPECT_THAT(sample(*dense, 4).labels, ElementsAre(10, 11, 300));
}

TEST(Tokens, BadFilesGiveFileOffsetAndReason) {
  const test::TempDir folder;
  const std::string file = (folder.path() / "tokens.bin").string();
  const Map data{{"name", "tokens"}, {"file", file}, {"length", 2}};
  EXPECT_THAT(complaint(data), AllOf(HasSubstr("tokens.bin"), HasSubstr("No such file")));
  test::write_file(file, u16_bytes({1, 2, 3, 4, 5}) + "x");
  EXPECT_THAT(complaint(data), HasSubstr("tokens.bin: offset 10: the last token is cut"));
  test::write_file(file, u16_bytes({1, 2, 900, 4, 5, 6}));
  Value small = data;
  small.set("vocabulary", 100);
  EXPECT_THAT(complaint(small), HasSubstr("offset 4: token 900 of number 2"));
  small.set("type", "i32");
  small.set("vocabulary", "auto");
  const std::int32_t negative[] = {1, -2, 3, 4, 5, 6};
  test::write_file(file, {reinterpret_cast<const char*>(negative), sizeof negative});
  EXPECT_THAT(complaint(small), HasSubstr("offset 4: token -2"));
  test::write_file(file, u16_bytes({1, 2, 3, 4}));
  EXPECT_THAT(complaint(data), HasSubstr("are not two samples of 2"));
}

TEST(Text, BytesAreTokens) {
  const test::TempDir folder;
  const std::string file = (folder.path() / "a.txt").string();
  test::write_file(file,
                   "abc\xff"
                   "defgh");
  const auto data = load_dataset(Map{{"name", "text"}, {"file", file}, {"length", 4}});
  EXPECT_EQ(data->classes(), 256);
  EXPECT_THAT(sample(*data, 0).inputs, ElementsAre('a', 'b', 'c', 255));
  EXPECT_THAT(sample(*data, 0).labels, ElementsAre('b', 'c', 255, 'd'));
  EXPECT_THAT(complaint(Map{{"name", "text"}, {"file", file}, {"merges", "m"}}),
              HasSubstr("data.merges"));
}

TEST(BytePairs, WordsAreTakenWithTheirBlank) {
  EXPECT_THAT(pre_tokenize("low  lower,lowest 12ab\n\nx "),
              ElementsAre("low", " ", " lower", ",", "lowest", " 12", "ab", "\n\n", "x", " "));
}

TEST(BytePairs, LearnsTheMostFrequentPairFirst) {
  // Sennrich et al.'s example: low x5, lower x2, newest x6, widest x3
  std::string text;
  for (const auto& [word, count] : std::vector<std::pair<std::string, int>>{
           {"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}})
    for (int i = 0; i < count; ++i)
      text += word + "\n";
  const BytePairs pairs = learn_byte_pairs(text, 256 + 3);
  ASSERT_EQ(pairs.size(), 259u);
  EXPECT_EQ(pairs.decode({256}), "es");  // 9 times, as "st": the smaller numbers first
  EXPECT_EQ(pairs.decode({257}), "est");
  EXPECT_EQ(pairs.decode({258}), "lo");  // 7 times, as "ow"
  EXPECT_THAT(pairs.encode("lowest"), ElementsAre(258, 'w', 257));
  // Nothing is left that comes twice: fewer tokens than asked for.
  EXPECT_EQ(learn_byte_pairs("aab", 300).size(), 256u);
  EXPECT_EQ(learn_byte_pairs("ab ab", 300).size(), 257u);
}

TEST(BytePairs, EncodesAnythingAndBack) {
  std::mt19937 random(3);
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += "eeetaoin shrdlu\n.,1\xc3\xa4"[random() % 20];
  const BytePairs pairs = learn_byte_pairs(text, 500);
  EXPECT_EQ(pairs.size(), 500u);
  const auto tokens = pairs.encode(text);
  EXPECT_EQ(pairs.decode(tokens), text);
  EXPECT_LT(tokens.size(), text.size() * 3 / 4);
  std::string bytes;
  for (int i = 0; i < 512; ++i)
    bytes += static_cast<char>(i);
  EXPECT_EQ(pairs.decode(pairs.encode(bytes)), bytes);
  // Learning the merges step by step by counting anew gives the same.
  BytePairs slow({});
  for (int step = 0; step < 40; ++step) {
    std::map<BytePairs::Merge, int> counts;
    for (const auto word : pre_tokenize(text)) {
      const auto symbols = slow.encode(word);
      for (std::size_t i = 1; i < symbols.size(); ++i)
        ++counts[{symbols[i - 1], symbols[i]}];
    }
    BytePairs::Merge best;
    int most = 0;
    for (const auto& [pair, count] : counts)
      if (count > most) most = count, best = pair;
    auto merges = slow.merges();
    merges.push_back(best);
    slow = BytePairs(merges);
    ASSERT_EQ(pairs.merges()[static_cast<std::size_t>(step)], best) << step;
  }
}

TEST(BytePairs, ReadsMergesAsGpt2WritesThem) {
  const test::TempDir folder;
  const auto file = folder.path() / "merges.txt";
  test::write_file(file, "#version: 0.2\n\xc4\xa0 t\n\xc4\xa0t h\nh e\n");  // U+0120 is a blank
  const BytePairs pairs = read_merges(file);
  EXPECT_THAT(pairs.encode("the the"), ElementsAre('t', 258, 257, 'e'));
  const auto refused = [&](const std::string& text) {
    test::write_file(file, text);
    try {
      read_merges(file);
    } catch (const DataError& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(refused("a b\nq\n"), HasSubstr("offset 4: a line is not two symbols"));
  EXPECT_THAT(refused("a bc\n"), HasSubstr("offset 2: a symbol that no line before makes"));
  EXPECT_THAT(refused("a \xe2\x82\xac\n"), HasSubstr("offset 2: a character that stands for no"));
  EXPECT_THAT(refused("#version: 0.2\n"), HasSubstr("no merges"));
  test::write_file(file, "h e\n");
  const std::string text = (folder.path() / "a.txt").string();
  test::write_file(text, "he he he he");
  const auto data = load_dataset(Map{{"name", "text"},
                                     {"file", text},
                                     {"vocabulary", "bpe"},
                                     {"merges", file.string()},
                                     {"length", 2}});
  EXPECT_EQ(data->classes(), 257);
  EXPECT_THAT(sample(*data, 0).inputs, ElementsAre(256, ' '));
}

}  // namespace
}  // namespace thalweg::engine
