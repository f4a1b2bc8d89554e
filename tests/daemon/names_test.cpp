// Names of sweeps where ids are expected: random sets of names that are prefixes of each other,
// have dots and digits, and look like ids, beside every reading that such a text can have.
#include "daemon/server/names.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <regex>

#include "daemon/api/messages.h"
#include "tests/daemon/server_fixture.h"
#include "tests/support/fuzz.h"

namespace thalweg::daemon {
namespace {

using jobspec::Id;
using testing::HasSubstr;

std::string id_of(const std::string& text, const std::vector<NamedSweep>& sweeps, NameUse use) {
  const ResolvedName found = resolve_name(text, sweeps, use);
  EXPECT_NE(found.id.has_value(), !found.problem.empty()) << text;
  return found.id ? found.id->to_string() : "";
}

const std::vector<NamedSweep> studies{{33, "study2"}, {12, "other"}, {4, "study"}, {1, "study"}};

TEST(Names, DigitsBehindANameAreNoPartOfAnId) {
  const std::vector<NamedSweep> sweeps{{12, "other"}, {1, "study"}};
  for (const NameUse use : {NameUse::read, NameUse::act}) {
    EXPECT_EQ(id_of("study2", sweeps, use), "") << "sweep 1 with a 2 behind it";
    EXPECT_EQ(id_of("study2", studies, use), "33");
    EXPECT_EQ(id_of("study2.3.1", studies, use), "33.3.1");
    EXPECT_EQ(id_of("study2.0", studies, use), "") << "trials count from 1";
    EXPECT_EQ(id_of("other.3", studies, use), "12.3");
    EXPECT_EQ(id_of("12.3", studies, use), "12.3");
    EXPECT_EQ(id_of("", studies, use), "");
  }
}

TEST(Names, SeveralSweepsOfANameAreAQuestionForWhoeverActs) {
  EXPECT_EQ(id_of("study", studies, NameUse::read), "4") << "the newest";
  EXPECT_EQ(id_of("study.3", studies, NameUse::read), "4.3");
  const ResolvedName asked = resolve_name("study.3", studies, NameUse::act);
  EXPECT_FALSE(asked.id);
  EXPECT_THAT(asked.problem, HasSubstr("'study.3' is the name of 2 sweeps"));
  EXPECT_THAT(asked.hint, HasSubstr("4.3 (study), 1.3 (study)"));
}

TEST(Names, ABeginningIsForReadersAlone) {
  EXPECT_EQ(id_of("oth.3", studies, NameUse::read), "12.3");
  EXPECT_EQ(id_of("stu", studies, NameUse::read), "") << "two names begin so";
  EXPECT_EQ(id_of("study2", {{7, "study21"}, {6, "study21"}}, NameUse::read), "7");
  const ResolvedName refused = resolve_name("oth", studies, NameUse::act);
  EXPECT_FALSE(refused.id);
  EXPECT_EQ(refused.problem, "'oth' is not the full name of a sweep, which is needed here");
  EXPECT_EQ(refused.hint, "did you mean 12 (other)?");
}

TEST(Names, AWholeNameGoesBeforeANameWithNumbers) {
  const std::vector<NamedSweep> sweeps{{5, "lr0"}, {4, "lr0.1"}};
  EXPECT_EQ(id_of("lr0.1", sweeps, NameUse::act), "4");
  EXPECT_EQ(id_of("lr0.1.3", sweeps, NameUse::read), "4.3");
  EXPECT_EQ(id_of("lr0.1.3", sweeps, NameUse::act), "") << "also attempt 3 of trial 1 of lr0";
}

std::string random_name(const std::vector<NamedSweep>& sweeps, std::mt19937& random) {
  static const std::vector<std::string> stems{"run", "r", "a.b", "12", "1.2", "v1.", "lr0", "x-3"};
  static const std::vector<std::string> ends{"", "1", "2", ".1", ".2", "-b", "0", ".3.1", "."};
  const bool longer = !sweeps.empty() && random() % 3 != 0;
  return (longer ? test::one_of(sweeps, random).name : test::one_of(stems, random)) +
         test::one_of(ends, random);
}

std::string random_text(const std::vector<NamedSweep>& sweeps, std::mt19937& random) {
  static const std::vector<std::string> ends{"", "", ".1", ".2.3", "2", ".0", ".", ".1.2.3", "x"};
  std::string text = random_name(sweeps, random);
  if (random() % 2 == 0) text = test::one_of(sweeps, random).name;
  if (random() % 4 == 0) text.resize(1 + random() % text.size());
  return text + test::one_of(ends, random);
}

struct Meaning {
  std::string id;
  std::size_t length = 0;  ///< of the name in the text
};

/// Every reading of the text in which the name is whole, newest sweep first.
std::vector<Meaning> meanings(const std::string& text, const std::vector<NamedSweep>& sweeps) {
  static const std::regex numbers(R"((\.[0-9]*[1-9][0-9]*){0,2})");
  std::vector<Meaning> found;
  for (const NamedSweep& sweep : sweeps) {
    if (!text.starts_with(sweep.name)) continue;
    const std::string rest = text.substr(sweep.name.size());
    if (std::regex_match(rest, numbers))
      found.push_back({Id::parse(std::to_string(sweep.id) + rest)->to_string(), sweep.name.size()});
  }
  return found;
}

/// Without those that mean less of the text as the name.
std::vector<Meaning> longest(std::vector<Meaning> all) {
  std::size_t length = 0;
  for (const Meaning& each : all)
    length = std::max(length, each.length);
  std::erase_if(all, [&](const Meaning& each) { return each.length < length; });
  return all;
}

TEST(Names, RandomNamesMeanWhatTheyAre) {
  int by_name = 0, asked = 0, begun = 0;
  test::fuzz(5000, [&](int, std::mt19937& random) {
    std::vector<NamedSweep> sweeps;
    for (std::int64_t id = 130; id > 0; id -= 1 + static_cast<std::int64_t>(random() % 40))
      sweeps.push_back({id, random_name(sweeps, random)});
    const std::string text = random_text(sweeps, random);
    const std::string read = id_of(text, sweeps, NameUse::read);
    const std::string act = id_of(text, sweeps, NameUse::act);
    if (const auto id = Id::parse(text)) {
      EXPECT_EQ(act, id->to_string());
      EXPECT_EQ(read, act);
      return;
    }
    const auto all = meanings(text, sweeps), best = longest(all);
    const auto& acting = !best.empty() && best.front().length == text.size() ? best : all;
    EXPECT_EQ(act, acting.size() == 1 ? acting.front().id : "") << text;
    by_name += acting.size() == 1;
    if (acting.size() > 1) {
      ++asked;
      const std::string hint = resolve_name(text, sweeps, NameUse::act).hint;
      for (std::size_t i = 0; i < std::min<std::size_t>(acting.size(), 10); ++i)
        EXPECT_THAT(hint, HasSubstr(acting[i].id + " (")) << text;
    }
    if (!best.empty()) {
      EXPECT_EQ(read, best.front().id) << text;
    } else if (!read.empty()) {
      ++begun;
      const Id id = *Id::parse(read);
      const auto sweep = std::find_if(sweeps.begin(), sweeps.end(),
                                      [&](const NamedSweep& each) { return each.id == id.sweep; });
      std::string start = text;
      for (const auto part : {id.trial, id.attempt})
        if (part != 0) start.resize(start.rfind('.'));
      EXPECT_TRUE(sweep->name.starts_with(start)) << text;
      for (const NamedSweep& other : sweeps)
        EXPECT_FALSE(other.name.starts_with(start) && other.name != sweep->name) << text;
    } else {
      const auto begins = [&](const NamedSweep& each) { return each.name.starts_with(text); };
      EXPECT_NE(std::count_if(sweeps.begin(), sweeps.end(), begins), 1) << text;
    }
  });
  if (test::fuzz_range(5000).many()) {
    EXPECT_GT(by_name, 0);
    EXPECT_GT(asked, 0);
    EXPECT_GT(begun, 0);
  }
}

class NamesOverHttp : public ServerTest {
 protected:
  json resolved(const std::string& name, bool acts) {
    return client->get("/v1/resolve?name=" + api::url_encode(name) + "&acts=" + (acts ? "1" : "0"));
  }
};

TEST_F(NamesOverHttp, TheControllerResolves) {
  const std::string first = submit(), second = submit();
  client->post("/v1/label", {{"id", first}, {"name", "größe 2"}});
  EXPECT_EQ(resolved("größe 2.1", true)["id"], first + ".1");
  EXPECT_EQ(resolved("lr", false)["id"], second);
  EXPECT_EQ(resolved("lr", true)["id"], "");
  EXPECT_EQ(resolved("lr", true)["hint"], "did you mean " + second + " (lrs)?");
  EXPECT_EQ(resolved("lrs", true)["id"], second);
  client->post("/v1/label", {{"id", first}, {"name", "lrs"}});
  EXPECT_EQ(resolved("lrs", false)["id"], second) << "the newest";
  EXPECT_EQ(resolved("lrs", true)["id"], "");
  EXPECT_EQ(client->get("/v1/resolve?name=lrs")["id"], "") << "nobody says that he only reads";
}

}  // namespace
}  // namespace thalweg::daemon
