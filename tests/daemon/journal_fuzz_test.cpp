// Damaged journals from a seeded generator: what can be read is in the record, in order, and
// nothing of it stops the controller. How many: tests/support/fuzz.h.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/controller/ingest.h"
#include "tests/support/fuzz.h"
#include "tests/support/process.h"

namespace thalweg::daemon {
namespace {

const char* const odd_numbers[] = {"-1",
                                   "0",
                                   "1e300",
                                   "1.5",
                                   "9223372036854775807",
                                   "-9223372036854775808",
                                   "18446744073709551615",
                                   "1e999",
                                   "null",
                                   "\"nan\"",
                                   "\"7\"",
                                   "[]",
                                   "{}",
                                   "true",
                                   "4294967297",
                                   "1000003",
                                   "\"-inf\"",
                                   "\"\xff\""};
const char* const odd_texts[] = {"",
                                 "\\u0000",
                                 "\\ud800",
                                 "\xc3",
                                 "\xff\xfe",
                                 "\\u001b[2J",
                                 "a\\nb",
                                 "\xe2\x80\xae",
                                 "x'); DROP TABLE event; --",
                                 "%s%n",
                                 "\\"};

/// A journal of some lines, numbered from 1, as the engine writes it but for a few odd values.
class Generator {
 public:
  explicit Generator(std::mt19937& random) : random_(random) {}

  std::string journal() {
    std::string text;
    const std::size_t lines = 1 + below(12);
    for (std::size_t i = 0; i < lines; ++i) {
      if (below(8) != 0) ++n_;
      std::string line =
          "{\"n\":" + number(n_) + ",\"t\":" + number(1000 + n_) + "," + rest() + "}";
      if (below(6) == 0) line = test::damaged(std::move(line), random_);
      text += line + "\n";
    }
    return below(4) == 0 ? text.substr(0, below(text.size() + 1)) : text;
  }

 private:
  std::size_t below(std::size_t n) { return random_() % n; }
  std::string number(long value) {
    return below(20) == 0 ? test::one_of(odd_numbers, random_) : std::to_string(value);
  }
  std::string text(const char* usual) {
    return below(10) == 0 ? test::one_of(odd_texts, random_) : usual;
  }

  std::string rest() {
    switch (below(7)) {
      case 0:
        return "\"type\":\"start\",\"format\":1,\"token\":\"" + text("t") +
               "\",\"ranks\":" + number(2) + ",\"steps\":" + number(9) + ",\"node_list\":[\"" +
               text("n1") + "\"],\"resumed_step\":" + number(0);
      case 1:
        return "\"type\":\"note\",\"level\":\"" + text("info") + "\",\"text\":\"" + text("slow") +
               "\"";
      case 2:
        return "\"type\":\"checkpoint\",\"step\":" + number(n_);
      case 3:
        return "\"type\":\"end\",\"status\":\"" + text("failed") + "\",\"step\":" + number(n_) +
               ",\"reason\":\"" + text("lost") + "\",\"rank\":" + number(1) + ",\"node\":\"" +
               text("n1") + "\"";
      case 4:
        return "\"type\":\"" + text("of a later version") + "\"";
      default:
        return "\"type\":\"metrics\",\"points\":[[\"" + text("train/loss") + "\"," + number(n_) +
               "," + number(1) + "],[\"" + text("val/error") + "\"," + number(n_) + ",0.5]]";
    }
  }

  std::mt19937& random_;
  long n_ = 0;
};

class JournalFuzz : public testing::Test {
 protected:
  test::TempDir dir;
  std::unique_ptr<db::Store> store = db::Store::open(dir.path() / "thalweg.db");

  void SetUp() override {
    db::SweepRow sweep;
    sweep.name = "x";
    sweep.backend = "fake";
    sweep.metric = "val/error";
    sweep.goal = jobspec::Goal::minimize;
    sweep.state = db::SweepPhase::active;
    sweep.notes = "[]";
    store->insert_sweep(sweep);
  }

  /// A trial of its own for each journal, with one running attempt.
  Id attempt(int number) {
    const Id id{1, number + 1, 1};
    db::TrialRow trial;
    trial.id = {1, id.trial, 0};
    trial.configuration = id.trial;
    trial.hash = "h" + std::to_string(number);
    trial.state = db::TrialPhase::running;
    trial.train = trial.parameters = "{}";
    trial.resources = "{\"nodes\":1}";
    store->insert_trials({trial});
    db::AttemptRow row;
    row.id = id;
    row.token = "t" + std::to_string(number);
    row.state = db::AttemptState::running;
    row.backend = "fake";
    row.folder = dir.path();
    row.launched = 1;
    row.nodes = row.ranks = 1;
    store->insert_attempt(row);
    return id;
  }

  /// Reads the file from its start, with a controller that knows what the record holds.
  std::int64_t read(const Id& id) {
    Ingest ingest(
        *store, [] { return 50.0; }, [] { return 50.0; });
    ingest.add(*store->attempt(id));
    ingest.tick();
    ingest.drain(id);
    return store->attempt(id)->journal_lines;
  }
};

TEST_F(JournalFuzz, StopsNothingAndIsReadOnce) {
  const auto file = dir.path() / "journal.jsonl";
  int points = 0;
  test::fuzz(300, [&](int number, std::mt19937& random) {
    std::string text = Generator(random).journal();
    const Id id = attempt(number);
    try {
      test::write_file(file, text);
      const std::int64_t lines = read(id);
      const auto curve = store->curve({1, id.trial, 0}, "train/loss");
      const auto events = store->events_of(id);
      ASSERT_GE(lines, 0);
      // A controller that starts again reads the same and adds nothing.
      ASSERT_EQ(read(id), lines);
      ASSERT_EQ(store->curve({1, id.trial, 0}, "train/loss").size(), curve.size());
      // Whatever the file holds, what is noted of it can be shown.
      for (const db::Event& event : events)
        ASSERT_NO_THROW(nlohmann::json::parse(event.data).dump()) << event.data;
      store->latest(1);
      points += static_cast<int>(curve.size());
      // Pushed instead, by somebody who has the secret.
      Ingest ingest(
          *store, [] { return 50.0; }, [] { return 50.0; });
      ingest.add(*store->attempt(id));
      ingest.push(id, text);
      ASSERT_FALSE(ingest.find(id)->end);
      std::filesystem::remove(file);
      ingest.tick();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << text;
    }
  });
  if (test::fuzz_range(300).many()) {
    EXPECT_GT(points, 100) << "the generator breaks every line";
  }
}

}  // namespace
}  // namespace thalweg::daemon
