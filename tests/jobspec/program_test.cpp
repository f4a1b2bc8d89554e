// Programs of the user's own: command lines, patterns, and their way through trial.yaml.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <regex>

#include "jobspec/metric_pattern.h"
#include "jobspec/program.h"
#include "jobspec/reader.h"
#include "jobspec/record_text.h"
#include "tests/jobspec/support.h"

namespace thalweg::jobspec {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Words = std::vector<std::string>;

Words expanded(Words command, const std::string& config) {
  Program program;
  program.file = "train.py";
  program.directory = "/home/ada/sweep";
  program.command = std::move(command);
  CommandValues values;
  values.config = read_yaml(config, "config");
  values.seed = 7;
  values.config_file = "/runs/1/config.json";
  values.folder = "/runs/1";
  values.nodes = 2;
  values.ranks_per_node = 4;
  return expand_command(program, values, [](const std::string& name) {
    return name == "HOME" ? std::optional<std::string>("/home/ada") : std::nullopt;
  });
}

TEST(Command, PathsMayBeginWithTheHome) {
  Program program;
  program.file = "~/train.py";
  program.container = "~/image.sif";
  program.directory = "/sweep";
  program.command = {"${program}", "~/x"};
  const auto at = [](const char* home) {
    return [home](const std::string& name) {
      return name == "HOME" && home != nullptr ? std::optional<std::string>(home) : std::nullopt;
    };
  };
  EXPECT_EQ(program_path(program, at("/home/ada")), "/home/ada/train.py");
  EXPECT_EQ(program_path(program, at(nullptr)), "/sweep/~/train.py");
  const Words words = expand_command(program, {}, at("/home/ada"));
  EXPECT_THAT(words, ElementsAre("apptainer", "exec", "--bind", "", "/home/ada/image.sif",
                                 "/home/ada/train.py", "~/x"))
      << "no shell reads the words of a command";
}

TEST(Command, ArgumentsInEveryForm) {
  const std::string config = "{lr: 0.001, on: true, off: false, m: {depth: 2}, d: [1, a], n: null}";
  EXPECT_THAT(expanded({"${args}"}, config),
              ElementsAre("--lr=0.001", "--on=True", "--off=False", "--m.depth=2", "--d=[1, 'a']",
                          "--n=None"));
  EXPECT_THAT(expanded({"${args_no_hyphens}"}, "{lr: 0.25, m: {depth: 2}}"),
              ElementsAre("lr=0.25", "m.depth=2"));
  EXPECT_THAT(expanded({"${args_no_equals}"}, "{lr: 1, s: a b}"),
              ElementsAre("--lr", "1", "--s", "a b"));
  EXPECT_THAT(expanded({"${args_no_boolean_flags}"}, "{on: true, off: false, x: 1, n: null}"),
              ElementsAre("--on", "--x=1"));
  EXPECT_THAT(expanded({"${args_append_hydra}", "${args_override_hydra}"}, "{x: 1}"),
              ElementsAre("+x=1", "++x=1"));
  EXPECT_THAT(expanded({"${args_json}"}, "{x: 1, m: {y: a}}"),
              ElementsAre(R"({"x":1,"m":{"y":"a"}})"));
}

// Python's own answers: repr(x) and str([x]).
TEST(Command, ValuesAsPythonWritesThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"0.0005", "0.0005"},
      {"1e-4", "0.0001"},
      {"0.00009", "9e-05"},
      {"1.5e-7", "1.5e-07"},
      {"1e15", "1000000000000000.0"},
      {"1e16", "1e+16"},
      {"123456789012345678.0", "1.2345678901234568e+17"},
      {"1e-300", "1e-300"},
      {"-0.0", "-0.0"},
      {"0.1", "0.1"},
      {"3", "3"},
      {".inf", "inf"},
      {"-.inf", "-inf"},
      {".nan", "nan"},
      {"[0.0005, 1e-5]", "[0.0005, 1e-05]"},
      {"[\"it's\", 'a\"b']", "[\"it's\", 'a\"b']"},
      {"['both '' and \"', 'back\\slash']", "['both \\' and \"', 'back\\\\slash']"},
      {"[[null, true], {a: 1.0}]", "[[None, True], {'a': 1.0}]"},
  };
  for (const auto& [written, expected] : cases)
    EXPECT_THAT(expanded({"${args}"}, std::string("{x: ") + written + "}"),
                ElementsAre("--x=" + std::string(expected)))
        << written;
}

TEST(Command, EveryRealReadsBackTheSame) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t bits = random();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    Program program;
    program.command = {"${args_no_hyphens}"};
    CommandValues values;
    values.config = Map{{"x", value}};
    const std::string text =
        expand_command(program, values, [](const auto&) { return std::nullopt; }).at(0).substr(2);
    ASSERT_EQ(std::strtod(text.c_str(), nullptr), value) << text;
    const std::size_t e = text.find('e');
    ASSERT_EQ(e != text.npos, std::abs(value) < 1e-4 || std::abs(value) >= 1e16) << text;
    ASSERT_TRUE(e != text.npos || text.find('.') != text.npos) << text;
  }
}

// hydra-core 1.3 reads each of these as the value on the left, types included.
TEST(Command, ValuesAsHydraReadsThem) {
  const std::pair<const char*, const char*> cases[] = {
      {"null", "null"},
      {"'null'", "'null'"},
      {"'1e-3'", "'1e-3'"},
      {"'true'", "'true'"},
      {"'NaN'", "'NaN'"},
      {"plain/path-1.5_x", "plain/path-1.5_x"},
      {"'70,80,90'", "'70,80,90'"},
      {"'(1, 2)'", "'(1, 2)'"},
      {"x=y", "'x=y'"},
      {"\"it's\"", "'it\\'s'"},
      {"'C:\\dir\\'", "'C:\\dir\\\\'"},
      {"'a\\''b'", "'a\\\\\\'b'"},
      {"''", "''"},
      {"a b", "'a b'"},
      {"'5'", "'5'"},
      {"true", "True"},
      {"1e-5", "1e-05"},
      {"[64, 'a,b', null, [x]]", "[64,'a,b',null,[x]]"},
      {"[{a b: '1'}]", "[{a\\ b:'1'}]"},
  };
  for (const auto& [written, expected] : cases)
    EXPECT_THAT(expanded({"${args_append_hydra}", "${args_override_hydra}"},
                         std::string("{x: ") + written + "}"),
                ElementsAre("+x=" + std::string(expected), "++x=" + std::string(expected)))
        << written;
}

TEST(Command, MacrosInsideOfWords) {
  EXPECT_THAT(expanded({"${env}", "${interpreter}", "${program}", "--config=${args_json_file}",
                        "--seed", "${seed}", "--out=${folder}/x", "-n", "${ranks}",
                        "${envvar:HOME}/d", "${envvar:NONE}", "${nothing} ${", "$x"},
                       "{}"),
              ElementsAre("/usr/bin/env", "python3", "/home/ada/sweep/train.py",
                          "--config=/runs/1/config.json", "--seed", "7", "--out=/runs/1/x", "-n",
                          "8", "/home/ada/d", "NONE", "${nothing} ${", "$x"));
}

TEST(Command, IsWhatFitsTheFile) {
  const auto command = [](const std::string& text) { return parse(text).program->command; };
  EXPECT_THAT(command("{program: a.py, metric: {name: x}}"),
              ElementsAre("${env}", "${interpreter}", "${program}", "${args}"));
  EXPECT_THAT(command("{program: a.out, metric: {name: x}}"), ElementsAre("${program}", "${args}"));
  EXPECT_THAT(command("{program: a.jl, interpreter: julia, metric: {name: x}}"),
              ElementsAre("${env}", "${interpreter}", "${program}", "${args}"));
}

TEST(Command, LineForAShell) {
  EXPECT_EQ(shell_line({"a", "--x=1", "it's", "", "a b"}), "a --x=1 'it'\\''s' '' 'a b'");
}

TEST(Command, RunsInAnImage) {
  Program program;
  program.directory = "/sweep";
  program.container = "torch.sif";
  program.command = {"python3"};
  CommandValues values;
  values.folder = "/runs/1";
  EXPECT_THAT(expand_command(program, values, [](const auto&) { return std::nullopt; }),
              ElementsAre("apptainer", "exec", "--bind", "/runs/1", "/sweep/torch.sif", "python3"));
}

TEST(Program, SeedsAreGivenWhereTheFileHasThem) {
  const Sweep with = parse("{program: a.py, seeds: 2, metric: {name: x}}");
  const Value config = read_yaml("{lr: 1}", "config");
  EXPECT_EQ(program_config(*with.program, config, 5).to_json(), R"({"seed":5,"lr":1})");
  const Value own = read_yaml("{seed: 9}", "config");
  EXPECT_EQ(program_config(*with.program, own, 5).to_json(), R"({"seed":9})");
  const Sweep without = parse("{program: a.py, metric: {name: x}}");
  EXPECT_EQ(program_config(*without.program, config, 5).to_json(), R"({"lr":1})");
}

TEST(Program, ASeedThatAllTrialsGetIsToldBesideSeeds) {
  const auto notes = [](const std::string& more, const std::string& command = "echo") {
    return parse("command: [" + command + "]\nmetric: {name: loss, goal: minimize}\n" + more).notes;
  };
  using ::testing::ElementsAre;
  using ::testing::HasSubstr;
  using ::testing::IsEmpty;
  EXPECT_THAT(notes("seeds: 6\nconfig: {seed: 42}\n"),
              ElementsAre(HasSubstr("sweep.yaml:4: config.seed: it is what trials get as their "
                                    "seed, so the 6 trials of `seeds` repeat one run")));
  EXPECT_THAT(notes("seeds: 2\nmethod: grid\nparameters: {seed: {values: [3, 4]}}\n"),
              ElementsAre(HasSubstr("sweep.yaml:5: parameters.seed: ")));
  EXPECT_THAT(notes("seeds: 1\nconfig: {seed: 42}\n"), IsEmpty());
  EXPECT_THAT(notes("seeds: 6\nconfig: {x: 42}\n"), IsEmpty());
  EXPECT_THAT(notes("seeds: 6\nconfig: {seed: 42}\n", "echo, \"--mine=${seed}\""), IsEmpty());
}

TEST(Program, NumbersThatAreNotFiniteGoThroughTheRecord) {
  const Value config = read_yaml(
      "{clip: .inf, text: 'inf', deep: {x: [-.inf, .nan, 1, null, 'nan']}, n: null}", "config");
  const std::string text = record_text(config);
  EXPECT_EQ(text,
            R"({"clip":".inf","text":"inf","deep":{"x":["-.inf",".nan",1,null,"nan"]},"n":null})");
  const Value back = read_record(text, "record");
  EXPECT_EQ(to_yaml(back), to_yaml(config));
  EXPECT_EQ(back.canonical(), config.canonical());
  EXPECT_TRUE(std::isinf(back.find("clip")->as_double()));
  EXPECT_TRUE(back.find("text")->is_string());
}

TEST(Program, GoesThroughTrialYaml) {
  const Sweep sweep = parse(read_file(source_dir() / "tests/jobspec/valid/program.yaml"));
  ASSERT_TRUE(sweep.program);
  Trial trial;
  trial.program = sweep.program;
  trial.program->directory = "/home/ada";
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / "program_trial.yaml";
  write_trial(trial, path);
  const Trial back = read_trial(path);
  std::filesystem::remove(path);
  ASSERT_TRUE(back.program);
  EXPECT_EQ(write_program(*back.program).to_json(), write_program(*trial.program).to_json());
  EXPECT_EQ(back.program->launch, LaunchMode::per_node);
  EXPECT_EQ(back.program->patience, 5);
  EXPECT_EQ(back.program->stall_s, 600);
  EXPECT_TRUE(back.program->stop_at_target);
  EXPECT_TRUE(back.program->passes_seed);
  EXPECT_EQ(back.program->directory, "/home/ada");
}

TEST(Program, StopsAtNanUnlessToldToGoOn) {
  const auto stop_of = [](const std::string& stop) {
    const Sweep sweep = parse("{program: a.py, metric: {name: x, target: 1}" + stop + "}");
    EXPECT_TRUE(sweep.program);
    Diagnostics diagnostics("test");
    const Program back =
        read_written_program(write_program(*sweep.program), "program", diagnostics);
    EXPECT_EQ(back.stop_at_nan, sweep.program->stop_at_nan);
    EXPECT_EQ(back.stop_at_target, sweep.program->stop_at_target);
    return std::pair(back.stop_at_nan, back.stop_at_target);
  };
  EXPECT_EQ(stop_of(""), std::pair(true, false));
  EXPECT_EQ(stop_of(", stop: {patience: 5}"), std::pair(true, false));
  EXPECT_EQ(stop_of(", stop: {at: nan}"), std::pair(true, false));
  EXPECT_EQ(stop_of(", stop: {at: target}"), std::pair(true, true));
  EXPECT_EQ(stop_of(", stop: {at: end}"), std::pair(false, false));
}

TEST(Program, RunsWhereTheFileSays) {
  const auto folder_of = [](const std::string& more) {
    Sweep sweep = parse("program: train.py\nmetric: {name: loss}\n" + more);
    sweep.program->directory = "/home/ada";
    Diagnostics diagnostics("f.yaml");
    const Program program =
        read_written_program(write_program(*sweep.program), "program", diagnostics);
    diagnostics.throw_if_any();
    CommandValues values;
    values.folder = "/runs/1/2/3";
    values.seed = 7;
    const auto environment = [](const std::string&) { return std::optional<std::string>("x"); };
    EXPECT_EQ(program_path(program, environment), "/home/ada/train.py") << "wherever it runs";
    return working_directory(program, values, environment);
  };
  EXPECT_EQ(folder_of(""), "/home/ada");
  EXPECT_EQ(folder_of("chdir: ${folder}\n"), "/runs/1/2/3");
  EXPECT_EQ(folder_of("chdir: \"${folder}/work\"\n"), "/runs/1/2/3/work");
  EXPECT_EQ(folder_of("chdir: out/${seed}-${envvar:A}\n"), "/home/ada/out/7-x");
}

TEST(Program, EveryKeyIsInTheReference) {
  const std::string page = read_file(source_dir() / "jobspec/sweep-file.md");
  for (const std::string& key : program_keys())
    EXPECT_THAT(page, HasSubstr("| `" + key + "`")) << key;
}

TEST(Pattern, FindsNamedGroups) {
  const MetricPattern pattern(R"(^\[(\w+)\] step (?<step>\d+): (?P<val/loss>\S+), (?:x|y))");
  EXPECT_THAT(pattern.metrics(), ElementsAre("val/loss"));
  const auto found = pattern.match("[train] step 12: 3.5e-1, x");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 12);
  EXPECT_THAT(found->values, ElementsAre(std::pair<std::string, double>("val/loss", 0.35)));
  EXPECT_FALSE(pattern.match("step 12"));
  EXPECT_TRUE(pattern.match("[t] step 1: none, y")->values.empty());
  EXPECT_TRUE(std::isnan(pattern.match("[t] step 1: NaN, y")->values[0].second));
  EXPECT_EQ(pattern.match("[t] step 1: +1, y")->values[0].second, 1);
}

TEST(Pattern, ColoursAndPunctuationAreNoPartOfANumber) {
  const MetricPattern pattern(R"(loss[:=] ?(?<loss>\S+))");
  for (const char* line :
       {"loss: \x1b[32m0.5\x1b[0m", "\x1b[1mloss\x1b[0m=0.5\x1b[K", "loss=0.5,", "{loss: 0.5}",
        "loss=0.5;", "\x1b]8;;http://x\x07loss=0.5\x1b]8;;\x07"}) {
    const auto found = pattern.match(line);
    ASSERT_TRUE(found) << line;
    EXPECT_THAT(found->values, ElementsAre(std::pair<std::string, double>("loss", 0.5))) << line;
    EXPECT_TRUE(found->no_numbers.empty()) << line;
  }
}

TEST(Pattern, WhatIsNoNumberIsTold) {
  using Text = std::pair<std::string, std::string>;
  const MetricPattern pattern(R"((?:step (?<step>\S+) )?loss=(?<loss>\S+))");
  for (const char* text : {"1,5", "1.5.2", "red", "0x", "1e", "5%", "--1", ","}) {
    const auto found = pattern.match("step 3 loss=" + std::string(text));
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->values.empty()) << text;
    EXPECT_EQ(found->step, 3);
    EXPECT_THAT(found->no_numbers, ElementsAre(Text("loss", text)));
  }
  for (const char* step : {"1/100", "-1", "1e20"})
    EXPECT_THAT(pattern.match("step " + std::string(step) + " loss=1")->no_numbers,
                ElementsAre(Text("step", step)));
  const MetricPattern any(R"((?<name>\w+)=(?<value>\S+))");
  EXPECT_THAT(any.match("loss=red")->no_numbers, ElementsAre(Text("loss", "red")));
}

TEST(Pattern, NameAndValue) {
  const MetricPattern pattern(R"((?<name>[\w/]+) = (?<value>\S+))");
  EXPECT_TRUE(pattern.metrics().empty());
  EXPECT_THAT(pattern.match("FOM = 12.5 s")->values,
              ElementsAre(std::pair<std::string, double>("FOM", 12.5)));
}

TEST(Pattern, SaysWhatIsWrong) {
  EXPECT_THROW(MetricPattern("loss (\\d+)"), std::invalid_argument);
  EXPECT_THROW(MetricPattern("(?<step>\\d+)"), std::invalid_argument);
  EXPECT_THROW(MetricPattern("(?<name>\\w+)"), std::invalid_argument);
  EXPECT_THROW(MetricPattern("(?<loss"), std::invalid_argument);
  EXPECT_THROW(MetricPattern("(?<loss>[)"), std::invalid_argument);
  EXPECT_NO_THROW(MetricPattern("[(?<x>]\\((?<loss>.)"));
  const auto message = [](const char* text) {
    try {
      const MetricPattern pattern(text);
      return std::string("none");
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
  };
  for (const char* text :
       {"(?<loss>\\d+)(?=,)", "(?<loss>\\d+)(?! %)", "(?<=a)(?<loss>\\d)", "(?<!a)(?<loss>\\d)"})
    EXPECT_THAT(message(text), ::testing::HasSubstr("are not supported: match the text around"));
  EXPECT_THAT(message("(a)\\1(?<loss>\\d)"), ::testing::HasSubstr("backreferences, here \\1"));
}

TEST(Pattern, BytesThatAreNoTextAreAnyCharacter) {
  EXPECT_EQ(MetricPattern("^.*loss=(?<loss>\\d)").match("\xe4\xff loss=1")->values[0].second, 1);
}

// Against std::regex, over lines that nearly match.
TEST(Pattern, MatchesAsStdRegexDoes) {
  const char* const patterns[] = {
      R"(loss: (?<v>\d+))",    R"(a?b*c(?<v>\d+))",      R"(ab|(?<v>c))",
      R"(\[x\] (?<v>\d)\+)",   R"(a{0,2}b(?<v>\d))",     R"((?:ab|cd)e+(?<v>\d))",
      R"([(]ab(?<v>\d)[)|x])", R"(\x61b(?<v>\d))",       R"(^ab.c(?<v>\d)$)",
      R"(a\b b\s(?<v>\d))",    R"((?<v>(a|b\)(x)))cd?)", R"(a\|b(?<v>\d)c{2})",
      R"(ä→(?<v>\d))",         R"(ab+?(?<v>\d*?)c)",
  };
  std::mt19937_64 random(11);
  const std::string parts[] = {"a", "b",    "c", "d", "e",      "ab", "1",  "2",  " ",    "(",
                               ")", "[x] ", "|", "+", "loss: ", "x",  "ä→", "cc", "abxc", "\n"};
  int matches = 0;
  for (const char* text : patterns) {
    const MetricPattern pattern(text);
    std::string plain = text;
    plain.erase(plain.find("?<v>"), 4);
    const std::regex regex(plain, std::regex::ECMAScript);
    for (int i = 0; i < 3000; ++i) {
      std::string line;
      for (std::uint64_t k = 0, size = 1 + random() % 8; k < size; ++k)
        line += parts[random() % std::size(parts)];
      std::smatch expected;
      const bool matches_there = std::regex_search(line, expected, regex);
      const auto found = pattern.match(line);
      ASSERT_EQ(found.has_value(), matches_there) << text << " in " << line;
      if (!found) continue;
      ++matches;
      // Of no number the text of the group is kept, unless the group took no part.
      const std::string group = expected[1].str();
      const bool is_number = !group.empty() && std::isdigit(group[0]) != 0;
      ASSERT_EQ(found->values.size(), is_number ? 1u : 0u) << text << " in " << line;
      if (is_number) {
        ASSERT_EQ(found->values[0].second, std::stod(group)) << text << " in " << line;
      } else if (expected[1].matched) {
        ASSERT_EQ(found->no_numbers[0].second, group) << text << " in " << line;
      }
    }
  }
  EXPECT_GT(matches, 500);
}

TEST(Pattern, NoneHangs) {
  // Exponential for a matcher that goes back: it would not end in this universe's time.
  const MetricPattern pattern("(?<loss>(a+)+)b");
  EXPECT_FALSE(pattern.match(std::string(200, 'a') + "c"));
  EXPECT_FALSE(MetricPattern("(?<loss>(.|x)*)b").match(std::string(1 << 20, 'a')));
}

}  // namespace
}  // namespace thalweg::jobspec
