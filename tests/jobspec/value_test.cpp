#include "jobspec/value.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "jobspec/diagnostic.h"

namespace thalweg::jobspec {
namespace {

using ::testing::HasSubstr;

std::string complaint(const std::string& text) {
  try {
    read_yaml(text, "f.yaml");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(Value, KindsOfScalarsFollowYamlCore) {
  const Value v = read_yaml(
      "a: 1e-4\nb: yes\nc: 012\nd: 0x1F\ne: -.5\nf: true\ng: ~\nh: \"1\"\ni: +7\nj: .inf\n"
      "k: 1.\nl: 00:30:00\nm: 1_000\nn: !!str 5\no: 'true'\np: !!float 5e-4\nq: !!int 5\n",
      "f");
  EXPECT_DOUBLE_EQ(v.find("a")->as_double(), 1e-4);
  EXPECT_EQ(v.find("b")->as_string(), "yes");
  EXPECT_EQ(v.find("c")->as_int(), 12);
  EXPECT_EQ(v.find("d")->as_int(), 31);
  EXPECT_DOUBLE_EQ(v.find("e")->as_double(), -0.5);
  EXPECT_TRUE(v.find("f")->as_bool());
  EXPECT_TRUE(v.find("g")->is_null());
  EXPECT_EQ(v.find("h")->as_string(), "1");
  EXPECT_EQ(v.find("i")->as_int(), 7);
  EXPECT_TRUE(std::isinf(v.find("j")->as_double()));
  EXPECT_FALSE(v.find("k")->is_int());
  EXPECT_EQ(v.find("l")->as_string(), "00:30:00");
  EXPECT_EQ(v.find("m")->as_string(), "1_000");
  EXPECT_EQ(v.find("n")->as_string(), "5");
  EXPECT_EQ(v.find("o")->as_string(), "true");
  EXPECT_DOUBLE_EQ(v.find("p")->as_double(), 5e-4);
  EXPECT_EQ(v.find("q")->as_int(), 5);
}

TEST(Value, MembersHaveThePlaceOfTheirKey) {
  const Value v = read_yaml("a: 1\nb:\n  c:\n    - 5\n    - 6\n", "f");
  EXPECT_EQ(v.find("b")->place.line, 2);
  EXPECT_EQ(v.find("b.c")->place.line, 3);
  EXPECT_EQ(v.find("b.c")->place.column, 3);
  EXPECT_EQ(v.find("b.c")->as_list()[1].place.line, 5);
}

TEST(Value, FindPrefersAWholeDottedKey) {
  const Value v = Map{{"a", Map{{"b", 1}}}, {"a.b", 2}};
  EXPECT_EQ(v.find("a.b")->as_int(), 2);
  EXPECT_EQ(v.find("a.c"), nullptr);
  EXPECT_EQ(v.find("a.b.c"), nullptr);
}

TEST(Value, SetMakesTheMapsOnTheWay) {
  Value v = Map{{"a", 1}};
  v.set("b.c.d", 5);
  v.set("b.c.d", 6);
  EXPECT_EQ(v.to_json(), R"({"a":1,"b":{"c":{"d":6}}})");
  EXPECT_THROW(v.set("a.x", 1), std::invalid_argument);
}

TEST(Value, WrongKindNamesBothKinds) {
  try {
    Value("abc").as_int();
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "found text \"abc\", expected a whole number");
  }
  EXPECT_EQ(Value(3.0).as_int(), 3);
  EXPECT_THROW(Value(3.5).as_int(), std::invalid_argument);
  EXPECT_THROW(Value(1e19).as_int(), std::invalid_argument);
}

TEST(Value, RealsKeepTheirKindAndEveryBit) {
  for (const double d : {0.1, 1.0, -0.0, 1e300, 5e-324, 123456789.123456789, 1e22, 3e-5}) {
    const Value back = read_yaml(Value(d).to_json(), "f");
    ASSERT_FALSE(back.is_int()) << d;
    EXPECT_EQ(std::signbit(back.as_double()), std::signbit(d));
    EXPECT_EQ(back.as_double(), d);
  }
  EXPECT_EQ(Value(0.1).to_text(), "0.1");
  EXPECT_EQ(Value(std::numeric_limits<double>::infinity()).to_json(), "\"inf\"");
}

TEST(Value, CanonicalIgnoresOrderAndSpelling) {
  const Value a = read_yaml("{b: 1.0, a: {y: 1e-4, x: 0.50}}", "f");
  const Value b = read_yaml("a: {x: .5, y: 0.0001}\nb: 1\n", "f");
  EXPECT_EQ(a.canonical(), b.canonical());
  EXPECT_EQ(Value(-0.0).canonical(), "0");
  EXPECT_NE(Value("1").canonical(), Value(1).canonical());
}

TEST(Value, JsonAndYamlRoundTrip) {
  const Value v = Map{{"text", "a: \"b\"\n\t\x01 é"},
                      {"number like", "1e5"},
                      {"", "yes"},
                      {"null", Value()},
                      {"list", List{1, 2.5, "x", List{}, Map{{"k", List{List{1}, Map{}}}}}},
                      {"map", Map{{"deep", Map{{"er", false}}}}},
                      {"big", std::numeric_limits<std::int64_t>::min()},
                      {"flat", List{"a b", "-", "c", -1}}};
  Value named = v;
  EXPECT_EQ(read_yaml(v.to_json(), "f"), v);
  EXPECT_EQ(read_yaml(to_yaml(v), "f"), v) << to_yaml(v);
  EXPECT_EQ(to_yaml(Map{{"a", List{1, "x"}}, {"b", Map{{"c", "1"}}}}),
            "a: [1, x]\nb:\n  c: \"1\"\n");
  EXPECT_TRUE(std::isnan(read_yaml(to_yaml(Value(std::nan(""))), "f").as_double()));
}

TEST(Value, EmptyTextIsNull) {
  EXPECT_TRUE(read_yaml("", "f").is_null());
  EXPECT_TRUE(read_yaml("# only a comment\n", "f").is_null());
}

TEST(Yaml, ReadsWhatOtherEditorsWrite) {
  EXPECT_EQ(read_yaml("a: 1\r\nb: [x,\r\n  y]\r\n", "f").to_json(), R"({"a":1,"b":["x","y"]})");
  EXPECT_EQ(read_yaml("\xEF\xBB\xBF"
                      "a: 1\n",
                      "f")
                .to_json(),
            R"({"a":1})");
  EXPECT_EQ(read_yaml("{\n\t\"a\": 1,\n\t\"b\":\"x\"}", "f").to_json(), R"({"a":1,"b":"x"})");
}

TEST(Value, LongTextIsCutBetweenCharacters) {
  std::string text(59, 'a');
  for (int i = 0; i < 10; ++i)
    text += "\xc3\xa9";
  EXPECT_EQ(describe(text), "text \"" + std::string(59, 'a') + "...\"");
}

TEST(Yaml, AliasesCopy) {
  const Value v = read_yaml("a: &x {k: [1, 2]}\nb: *x\n", "f");
  EXPECT_EQ(*v.find("a"), *v.find("b"));
  EXPECT_EQ(v.find("b")->place.line, 2);
}

// As PyYAML reads them: yaml.safe_load of the same text.
TEST(Yaml, MergeKeysBringWhatIsMissing) {
  const std::string base = "a: &a {x: 1, y: 2}\nb: &b {y: 3, z: 4}\n";
  const auto merged = [&](const std::string& text) {
    return read_yaml(base + "c: " + text + "\n", "f").find("c")->to_json();
  };
  EXPECT_EQ(merged("{<<: *a, y: 5}"), R"({"x":1,"y":5})");
  EXPECT_EQ(merged("{y: 5, <<: *a}"), R"({"x":1,"y":5})");
  EXPECT_EQ(merged("{<<: [*a, *b], w: 0}"), R"({"x":1,"y":2,"z":4,"w":0})");
  EXPECT_EQ(merged("{<<: {x: 7}}"), R"({"x":7})");
  EXPECT_EQ(merged("{\"<<\": 1}"), R"({"<<":1})") << "in quotes it is a name";
  EXPECT_THAT(complaint(base + "c: {<<: 1}\n"), HasSubstr("found 1, expected the alias of a map"));
  EXPECT_THAT(complaint(base + "c: {<<: [*a, 2]}\n"), HasSubstr("expected the alias of a map"));
  EXPECT_THAT(complaint(base + "c: {<<: *a, <<: *b}\n"), HasSubstr("the key is given twice"));
}

TEST(Yaml, BombsAndLoopsAreRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 9; ++i) {
    const std::string to = std::to_string(i), from = std::to_string(i - 1);
    bomb += "a" + to + ": &a" + to + " [";
    for (int k = 0; k < 10; ++k)
      bomb += (k ? ", *a" : "*a") + from;
    bomb += "]\n";
  }
  EXPECT_THAT(complaint(bomb), HasSubstr("aliases copy too many values"));
  // A few values, but long ones: 1 MB of text 1000 times, under a name, as a name, and inside out.
  const std::string text(1'000'000, 'x');
  std::string copies = "a: &a " + text + "\nb:\n", keys = "a: &a " + text + "\nb:\n",
              nested = "a: ";
  for (int i = 0; i < 1000; ++i) {
    copies += "- *a\n";
    keys += "- {*a : 1}\n";
  }
  for (int i = 0; i < 100; ++i)
    nested += "&a" + std::to_string(i) + " [";
  nested += text + std::string(100, ']');
  for (const std::string& file : {copies, keys, nested})
    EXPECT_THAT(complaint(file), HasSubstr("copy more than 32 MiB of text"));
  std::string many = "a: [";
  for (int i = 0; i < 2'100'000; ++i)
    many += "1,";
  EXPECT_THAT(complaint(many + "1]"), HasSubstr("more than 2000000 values"));
  EXPECT_THAT(complaint("a: &x [*x]\n"), HasSubstr("contains itself"));
  EXPECT_THAT(complaint(std::string(10'000, '[')), HasSubstr("f.yaml:1: "));
  std::string chain = "a0: &a0 [1]\n";
  for (int i = 1; i < 300; ++i) {
    chain += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
             "]\n";
  }
  EXPECT_THAT(complaint(chain), HasSubstr("nested more than"));
}

TEST(Yaml, EveryDuplicateAndBadNumberIsNamed) {
  EXPECT_EQ(complaint("a: 1\nb:\n  c: 1\n  c: 2\na: 1e999\n"),
            "f.yaml:4: b.c: the key is given twice, expected once (first on line 3)\n"
            "f.yaml:5: a: found 1e999, expected a number that fits 64 bits\n"
            "f.yaml:5: a: the key is given twice, expected once (first on line 1)");
  EXPECT_THAT(complaint("a: 9223372036854775808\n"), HasSubstr("fits 64 bits"));
}

TEST(Yaml, BrokenTextIsRefused) {
  EXPECT_EQ(complaint("a:\n\tb: 1\n"), "f.yaml:2: found a tab in the indentation, expected spaces");
  EXPECT_THAT(complaint("a: \x04\n"), HasSubstr("f.yaml:1: found a control character (code 4)"));
  EXPECT_THAT(complaint("a: 1\nb: \xff\n"), HasSubstr("f.yaml:2: found bytes that are not UTF-8"));
  EXPECT_THAT(complaint("a: 1\n---\nb: 1\n"), HasSubstr("found a second document"));
  EXPECT_THAT(complaint("a: [1, 2\n"), HasSubstr("this is not YAML"));
  EXPECT_THAT(complaint("? [a]\n: 1\n"), HasSubstr("found a list or map as key"));
  EXPECT_THAT(complaint("a: !!binary aGk=\n"), HasSubstr("found the tag"));
}

TEST(Nearest, FindsTyposAndOnlyTypos) {
  const std::vector<std::string> names{"optimizer", "momentum", "metric", "lr", "seed"};
  EXPECT_EQ(nearest("optimiser", names), "optimizer");
  EXPECT_EQ(nearest("momntum", names), "momentum");
  EXPECT_EQ(nearest("mtericd", names), "metric");
  EXPECT_EQ(nearest("rl", names), "lr");
  EXPECT_EQ(nearest("seeds", names), "seed");
  EXPECT_EQ(nearest("banana", names), "");
  EXPECT_EQ(nearest("", names), "");
}

}  // namespace
}  // namespace thalweg::jobspec
