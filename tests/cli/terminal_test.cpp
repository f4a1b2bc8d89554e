// `watch` and `run` on a terminal, and Ctrl-C.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "cli/output/text.h"
#include "cli/output/watcher.h"
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// The program on a pseudo-terminal.
class Screen {
 public:
  Screen(std::vector<std::string> words, const RunOptions& options, unsigned short columns,
         unsigned short rows) {
    winsize size{rows, columns, 0, 0};
    std::vector<char*> argv;
    for (std::string& word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    pid_ = forkpty(&terminal_, nullptr, nullptr, &size);
    if (pid_ != 0) return;
    for (const auto& [key, value] : options.env)
      setenv(key.c_str(), value.c_str(), 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  ~Screen() {
    if (!over_) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(terminal_);
  }
  /// Reads until `what` is there.
  bool shows(const std::string& what) {
    return eventually([&] {
      read_some();
      return text_.find(what) != std::string::npos;
    });
  }
  void press(const std::string& keys) {
    ASSERT_EQ(write(terminal_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
  }
  void resize(unsigned short columns, unsigned short rows) {
    const winsize size{rows, columns, 0, 0};
    ioctl(terminal_, TIOCSWINSZ, &size);
  }
  /// The exit code.
  int end() {
    int status = 0;
    const bool ended = eventually([&] {
      read_some();
      return waitpid(pid_, &status, WNOHANG) == pid_;
    });
    EXPECT_TRUE(ended) << text_;
    over_ = ended;
    read_some();
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  const std::string& text() const { return text_; }
  void forget() { text_.clear(); }

 private:
  void read_some() {
    pollfd ready{terminal_, POLLIN, 0};
    char block[4096];
    while (poll(&ready, 1, 0) > 0) {
      const ssize_t n = read(terminal_, block, sizeof block);
      if (n <= 0) return;
      text_.append(block, static_cast<std::size_t>(n));
    }
  }
  int terminal_ = -1;
  pid_t pid_ = -1;
  bool over_ = false;
  std::string text_;
};

class CliTerminal : public CommandTest {
 protected:
  Screen screen(std::vector<std::string> words, unsigned short columns = 80,
                unsigned short rows = 24) {
    words.insert(words.begin(), program());
    return Screen(words, options_, columns, rows);
  }
  RunOptions options_ = options();
};

// The data come first: what is trained, and the names in them, follow.
TEST_F(CliTerminal, InitAsksForTheDataFirst) {
  write_file(folder("mine.npz"), "the engine reads it");
  script("thalweg-train", R"(echo '{"arrays": [{"name": "X", "integer": false, "shape": [200, 8]},
                                   {"name": "y", "integer": true, "shape": [200]}]}')");
  Screen init = screen({"init", folder("new.yaml")});
  ASSERT_TRUE(init.shows("your data:"));
  EXPECT_THAT(init.text(), Not(HasSubstr("optimizers to compare")));
  init.press("mine.npz\n");
  ASSERT_TRUE(init.shows("found inputs X and y"));
  init.press("\n\n\n\n");
  EXPECT_EQ(init.end(), 0) << init.text();
  EXPECT_THAT(read_file(folder("new.yaml")), testing::AllOf(HasSubstr("inputs: \"mine.npz:X\""),
                                                            HasSubstr("labels: \"mine.npz:y\"")));
}

TEST_F(CliTerminal, InitAsksWhatIsTrainedWhereTheDataDoNotTell) {
  Screen init = screen({"init", folder("new.yaml")});
  ASSERT_TRUE(init.shows("your data:"));
  init.press("table.csv\n");
  ASSERT_TRUE(init.shows("What do you train on?"));
  init.press("2\n\n\n\n\n");
  EXPECT_EQ(init.end(), 0) << init.text();
  EXPECT_THAT(read_file(folder("new.yaml")), HasSubstr("table.csv:"));
}

TEST_F(CliTerminal, FramesFitAndRepaintInPlace) {
  controller().stream("GET /v1/watch?id=12", {sample("sweep"), sample("sweep_finished")});
  Screen watch = screen({"watch", "12"});
  EXPECT_EQ(watch.end(), 0);
  EXPECT_THAT(watch.text(), HasSubstr("\x1b[32m"));
  EXPECT_THAT(watch.text(), HasSubstr("\x1b[11A"));  // the first frame had 11 lines
  std::string text = watch.text();
  for (std::size_t at; (at = text.find("\r\n")) != std::string::npos; text.erase(0, at + 2)) {
    std::string line = text.substr(0, at);
    // Cursor movement takes no columns; painted_width knows colours only.
    for (const char* move : {"\x1b[?25l", "\x1b[?25h", "\x1b[11A", "\x1b[K", "\x1b[J", "\r"})
      for (std::size_t found; (found = line.find(move)) != std::string::npos;)
        line.erase(found, std::string(move).size());
    EXPECT_LT(cli::painted_width(line), 80) << line;
  }
}

TEST_F(CliTerminal, NoColorMeansNoColours) {
  options_.env["NO_COLOR"] = "1";
  controller().stream("GET /v1/watch?id=12", {sample("sweep_finished")});
  Screen watch = screen({"watch", "12"});
  EXPECT_EQ(watch.end(), 0);
  EXPECT_THAT(watch.text(), HasSubstr("8/8 trials finished"));
  EXPECT_THAT(watch.text(), Not(HasSubstr("\x1b[3")));
}

TEST_F(CliTerminal, DumbTerminalGetsPlainLines) {
  options_.env["TERM"] = "dumb";
  controller().stream("GET /v1/watch?id=12", {sample("sweep_finished")});
  Screen watch = screen({"watch", "12"});
  EXPECT_EQ(watch.end(), 0);
  EXPECT_THAT(watch.text(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(watch.text(), HasSubstr("sweep 12 fashion-optimizers finished after 1:24"));
}

TEST_F(CliTerminal, ResizeRepaintsForTheNewWindow) {
  controller().stream("GET /v1/watch?id=12", {sample("sweep")}, false);
  Screen watch = screen({"watch", "12"}, 100, 30);
  ASSERT_TRUE(watch.shows("pending: free cores"));
  watch.forget();
  watch.resize(70, 6);
  EXPECT_TRUE(watch.shows("more pending")) << watch.text();
}

TEST_F(CliTerminal, InterruptDetaches) {
  controller().stream("GET /v1/watch?id=12", {sample("sweep")}, false);
  Screen watch = screen({"watch", "12"});
  ASSERT_TRUE(watch.shows("pending: free cores"));
  watch.press("\x03");
  EXPECT_EQ(watch.end(), 130);
  EXPECT_THAT(watch.text(), HasSubstr("Left sweep 12: it continues without this window."));
  EXPECT_THAT(watch.text(), HasSubstr("thalweg cancel 12"));
  EXPECT_FALSE(controller().was_asked("POST /v1/cancel"));
}

TEST_F(CliTerminal, CancelOnInterruptCancelsThenLeaves) {
  controller().answer("POST /v1/sweeps", {{"id", "12"},
                                          {"name", "small"},
                                          {"trials", 8},
                                          {"configurations", 4},
                                          {"backend", "local"}});
  controller().answer("POST /v1/cancel", {{"cancelled", 6}});
  controller().stream("GET /v1/watch?id=12", {sample("sweep")}, false);
  Screen run = screen({"run", "--cancel-on-interrupt", source_file("valid/small.yaml")});
  ASSERT_TRUE(run.shows("pending: free cores"));
  run.press("\x03");
  ASSERT_TRUE(run.shows("Cancelling sweep 12"));
  EXPECT_TRUE(controller().was_asked("POST /v1/cancel"));
  run.press("\x03");
  EXPECT_EQ(run.end(), 130);
}

TEST_F(CliTerminal, TablesFitTheWindow) {
  controller().answer("GET /v1/sweeps/12/compare", sample("compare"));
  Screen compare = screen({"compare", "12"});
  EXPECT_EQ(compare.end(), 0);
  EXPECT_THAT(compare.text(), HasSubstr("not shown for lack of width"));
}

TEST_F(CliTerminal, ShowNamesOnceWhatAllTrialsHaveAndCutsOtherNumbersFirst) {
  json sweep = sample("sweep");
  int trial = 0;
  for (json& each : sweep["trials"])
    each["parameters"] = {{"data.folds", 5},
                          {"optimizer.lr", 0.001 * ++trial},
                          {"optimizer.weight_decay", 1e-05 * trial}};
  controller().answer("GET /v1/sweeps/12", sweep);
  Screen show = screen({"show", "12"});
  EXPECT_EQ(show.end(), 0);
  EXPECT_THAT(show.text(), HasSubstr("all trials"));
  EXPECT_THAT(show.text(), HasSubstr("  folds=5\r\n"));
  EXPECT_THAT(show.text(), HasSubstr("lr=0.003, weight_decay=3e-05"));
  EXPECT_THAT(show.text(), Not(HasSubstr("folds=5, lr")));

  // A seed that all have says nothing either.
  for (json& each : sweep["trials"]) {
    each["seed"] = 1;
    each["reason"] = "";
    if (each.contains("progress")) each["progress"].erase("waiting_for");
    each["parameters"]["log.every"] = 100 * trial++;
  }
  controller().answer("GET /v1/sweeps/12", sweep);
  Screen same = screen({"show", "12"});
  EXPECT_EQ(same.end(), 0);
  EXPECT_THAT(same.text(), testing::ContainsRegex("every=[0-9]+, lr=0.003, weight_decay=3e-05"));
}

TEST_F(CliTerminal, ListsDrawTheBestTrials) {
  controller().answer("GET /v1/sweeps?limit=50", sample("sweeps"));
  const std::string asked = "GET /v1/sparklines?sweeps=12,11&points=12";
  options_.env["LC_ALL"] = "C.UTF-8";
  Screen without = screen({"ls"}, 120);
  EXPECT_EQ(without.end(), 0);
  EXPECT_TRUE(controller().was_asked(asked)) << "and an older controller's 404 is no error";
  EXPECT_THAT(without.text(), Not(HasSubstr("best")));
  controller().answer(asked, json::parse(R"({"sparklines": [
    {"id": "12", "trial": "12.1", "values": [8, "nan", 6, 4.5, 1]}]})"));
  Screen wide = screen({"ls"}, 120);
  EXPECT_EQ(wide.end(), 0);
  EXPECT_THAT(wide.text(), HasSubstr("best"));
  EXPECT_THAT(wide.text(), HasSubstr("█▆▅▁"));
  Screen narrow = screen({"ls"}, 99);
  EXPECT_EQ(narrow.end(), 0);
  EXPECT_THAT(narrow.text(), Not(HasSubstr("█")));
  options_.env["LC_ALL"] = "C";
  Screen plain = screen({"ls"}, 120);
  EXPECT_EQ(plain.end(), 0);
  EXPECT_THAT(plain.text(), Not(HasSubstr("█")));
  options_.env["LC_ALL"] = "C.UTF-8";
  Screen json_list = screen({"ls", "--json"}, 120);
  EXPECT_EQ(json_list.end(), 0);
  const auto requests = controller().requests();
  EXPECT_EQ(
      std::count_if(requests.begin(), requests.end(),
                    [](const auto& each) { return each.target.find("spark") != each.target.npos; }),
      2);
}

/// What is on the screen without escapes, line by line.
std::vector<std::string> plain_lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\x1b') {
      while (i < text.size() && !std::isalpha(static_cast<unsigned char>(text[i])))
        ++i;
    } else if (text[i] == '\n') {
      lines.emplace_back();
    } else if (text[i] != '\r') {
      lines.back() += text[i];
    }
  }
  return lines;
}

TEST_F(CliTerminal, NothingOfAComparisonIsWiderThanTheWindow) {
  json answer = sample("compare");
  answer["by"] = {"optimizer.name", "schedule.decay", "optimizer.weight_decay"};
  for (json& row : answer["rows"]) {
    row["group"]["optimizer.weight_decay"] = 0.000343232;
    row["verdict"] = "3 configurations, 12 needed";
    row["n"] = 14;
    row["trials_used"] = 112;
    row["best"] = {{"median", 0.59123}, {"low", 0.55421}, {"high", 0.66012}};
  }
  controller().answer("GET /v1/sweeps/12/compare", answer);
  controller().answer("POST /v1/sweeps", {{"id", "12"}, {"name", "small"}, {"trials", 8}});
  controller().stream("GET /v1/watch?id=12", {sample("sweep_finished")});
  for (const unsigned short columns : {40, 60, 80, 100}) {
    for (const bool run : {false, true}) {
      Screen screen = run ? this->screen({"run", source_file("valid/small.yaml")}, columns)
                          : this->screen({"compare", "12"}, columns);
      EXPECT_EQ(screen.end(), 0) << screen.text();
      const std::string& text = screen.text();
      for (const std::string& line : plain_lines(text.substr(run ? text.rfind("#") : 0))) {
        // A command is there to be copied and never broken.
        const bool alone = line.starts_with("  thalweg ") && line.find("  ", 2) == line.npos;
        EXPECT_TRUE(alone || cli::display_width(line) <= columns) << line;
      }
      EXPECT_THAT(text, HasSubstr("adamw"));
    }
  }
}

}  // namespace
}  // namespace thalweg::test
