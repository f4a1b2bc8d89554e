// The socket's side of the site's agent: connections that misbehave in every way we know.
#include "daemon/slurm_agent/line_server.h"

#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "daemon/slurm_agent/attempt_folder.h"
#include "daemon/slurm_agent/grants.h"
#include "daemon/slurm_agent/log.h"
#include "daemon/slurm_agent/person.h"
#include "tests/daemon/slurm/site_world.h"

namespace thalweg::slurm_agent {
namespace {

using std::chrono::milliseconds;

class LineServerTest : public testing::Test {
 protected:
  void serve(LineLimits limits) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket().c_str(), sizeof address.sun_path - 1);
    listening_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::listen(listening_, 16), 0);
    ASSERT_EQ(::pipe(stop_), 0);
    server_ = std::make_unique<LineServer>(limits, [state = state_](const std::string& line) {
      if (line == "wait") {
        ++state->waiting;
        while (!state->go)
          std::this_thread::sleep_for(milliseconds(5));
      }
      ++state->answered;
      return line == "much" ? std::string(4u << 20, 'y') + "\n" : "<" + line + ">\n";
    });
    thread_ = std::thread([this] { server_->serve(listening_, ::getuid(), stop_[0]); });
  }
  void TearDown() override {
    state_->go = true;
    ASSERT_EQ(::write(stop_[1], "x", 1), 1);
    thread_.join();
    for (const int fd : {listening_, stop_[0], stop_[1]})
      ::close(fd);
  }
  std::string socket() const { return dir_.path() / "socket"; }
  test::AgentClient connect() const { return test::AgentClient(socket(), ::getuid()); }

  test::TempDir dir_;
  int listening_ = -1, stop_[2] = {-1, -1};
  /// Workers outlive the server.
  struct State {
    std::atomic<bool> go = false;
    std::atomic<int> waiting = 0, answered = 0;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::unique_ptr<LineServer> server_;
  std::thread thread_;
};

LineLimits small() {
  LineLimits limits;
  limits.workers = 2;
  limits.line = 1000;
  limits.pending = 3;
  limits.unread = 16u << 20;
  return limits;
}

TEST_F(LineServerTest, AnswersLinesThatComeInChunks) {
  serve(small());
  test::AgentClient client = connect();
  client.send("on");
  test::sleep_for(milliseconds(50));
  client.send("e\n\n\ntwo\nthr");
  // Of two workers either may be the first to answer.
  EXPECT_EQ((std::set{client.line(), client.line()}), (std::set<std::string>{"<one>", "<two>"}));
  client.send("ee\n");
  EXPECT_EQ(client.line(), "<three>");
}

TEST_F(LineServerTest, ASlowAnswerKeepsNobodyElse) {
  serve(small());
  test::AgentClient slow = connect(), quick = connect();
  slow.send("wait\n");
  quick.send("a\n");
  EXPECT_EQ(quick.line(), "<a>");
  state_->go = true;
  EXPECT_EQ(slow.line(), "<wait>");
}

TEST_F(LineServerTest, ManyLinesWaitAtTheSender) {
  serve(small());
  test::AgentClient flood = connect();
  std::string lines;
  for (int i = 0; i < 200; ++i)
    lines += std::to_string(i) + "\n";
  flood.send("wait\nwait\nwait\n" + lines);
  ASSERT_TRUE(test::eventually([&] { return state_->waiting == 2; }));
  test::sleep_for(milliseconds(200));  // room for a mistake to show
  EXPECT_EQ(state_->waiting, 2);
  EXPECT_EQ(state_->answered, 0);  // two workers wait, the third line too, and no fourth was taken
  state_->go = true;
  std::multiset<std::string> got;
  for (int i = 0; i < 203; ++i)
    got.insert(flood.line());
  EXPECT_EQ(got.count("<wait>"), 3u);
  EXPECT_EQ(std::set<std::string>(got.begin(), got.end()).size(), 201u);
}

TEST_F(LineServerTest, OneThatSendsTooMuchIsClosed) {
  serve(small());
  test::AgentClient big = connect(), good = connect();
  big.send(std::string(2000, 'x'));
  EXPECT_EQ(big.line(), "");
  good.send(std::string(900, 'x') + "\n");
  EXPECT_EQ(good.line().size(), 902u);
}

TEST_F(LineServerTest, OneThatSendsPartOfALineIsClosed) {
  LineLimits limits = small();
  limits.line_time = test::slowed(milliseconds(300));
  serve(limits);
  test::AgentClient slow = connect(), idle = connect();
  slow.send("a\npart of a line");
  EXPECT_EQ(slow.line(), "<a>");
  EXPECT_EQ(slow.line(), "");
  idle.send("b\n");  // silence alone is no fault
  EXPECT_EQ(idle.line(), "<b>");
}

TEST_F(LineServerTest, OneThatNeverReadsIsClosedAndKeepsNobodyElse) {
  LineLimits limits = small();
  limits.unread_time = test::slowed(milliseconds(500));
  serve(limits);
  test::AgentClient deaf = connect(), good = connect();
  deaf.send("much\nmuch\nmuch\n");
  good.send("a\n");
  EXPECT_EQ(good.line(), "<a>");
  // What it asks for while its answers wait is not even read.
  EXPECT_TRUE(test::eventually([&] { return !deaf.send("more\n"); }));
  good.send("b\n");
  EXPECT_EQ(good.line(), "<b>");
}

TEST_F(LineServerTest, AnswersToTheDepartedAreDropped) {
  serve(small());
  {
    test::AgentClient gone = connect();
    gone.send("wait\n");
    ASSERT_TRUE(test::eventually([&] { return state_->waiting == 1; }));
  }
  state_->go = true;
  EXPECT_TRUE(test::eventually([&] { return state_->answered == 1; }));
  test::AgentClient next = connect();
  next.send("c\n");
  EXPECT_EQ(next.line(), "<c>");
}

TEST(Attempts, AreNamedByNumbers) {
  const std::vector<std::string> runs = {"/a/runs", "/b"};
  const auto path = attempt_path(runs, "/b/12/3/1-0a1b2c3d");
  ASSERT_TRUE(path);
  EXPECT_EQ(path->runs, "/b");
  EXPECT_EQ(path->sweep + " " + path->trial + " " + path->attempt, "12 3 1-0a1b2c3d");
  EXPECT_TRUE(attempt_path(runs, "/a/runs/1/2/3"));
  for (const char* folder : {"", "/", "/a/runs", "/a/runs/", "/a/runs/1/2", "/a/runs/1/2/3/4",
                             "/a/runs/1/2/..", "/a/runs/../b/1", "/c/1/2/3", "/a/runs/1/2/3/",
                             "/a/runs//1/2", "/bb/1/2/3", "/b/1/2/-1", "/b/1/2/1-/"})
    EXPECT_FALSE(attempt_path(runs, folder)) << folder;
  EXPECT_FALSE(attempt_path(runs, std::string("/b/1/2/3\0x", 10)));
}

TEST(Barred, AreSystemAccountsAndWhoeverMayDoAsRootDoes) {
  const Barred barred{1000, 64030, 990, 991};
  EXPECT_EQ(why_barred(1000, barred), "");
  for (const uid_t uid : {0u, 1u, 999u, 990u, 64030u, 4294967295u})
    EXPECT_NE(why_barred(uid, barred), "") << uid;
  const Barred high{500, 700, 800, 900};
  for (const uid_t uid : {700u, 800u, 900u})
    EXPECT_NE(why_barred(uid, high), "") << uid;
}

TEST(GrantFolder, IsOneAgentsAlone) {
  const test::TempDir dir;
  const auto folder = dir.path() / "grants";
  Grants grants(folder, 0);
  EXPECT_THROW(Grants(folder, 0), std::runtime_error);
  const auto link = dir.path() / "link";
  std::filesystem::create_symlink(dir.path(), link);
  EXPECT_THROW(Grants(link, 0), std::runtime_error);
}

TEST(GrantFolder, ForgetsWhatIsOverAndLimitsEachUser) {
  const test::TempDir dir;
  std::optional<Grants> grants(std::in_place, dir.path() / "grants", 0);
  Grant grant{std::string(64, 'd'), 1001, 1001, "alice", 100, 200};
  std::string last;
  for (std::size_t i = 0; i < Grants::max_of_user; ++i)
    last = grants->add(grant).value();
  EXPECT_FALSE(grants->add(grant));
  grant.uid = 1002;
  const std::string other = grants->add(grant).value();
  grant.uid = 1001, grant.made = 250, grant.expires = 1'000'000;
  const std::string later = grants->add(grant).value();  // the others have expired
  EXPECT_TRUE(grants->find(last));
  grants.emplace(dir.path() / "grants", 700'000);
  EXPECT_FALSE(grants->find(last));
  EXPECT_FALSE(grants->find(other));
  ASSERT_TRUE(grants->find(later));
  EXPECT_EQ(grants->find(later)->user, "alice");
  EXPECT_FALSE(std::filesystem::exists(dir.path() / "grants" / last));
  EXPECT_TRUE(grants->remove(later));
  EXPECT_FALSE(grants->remove(later));
}

TEST(AgentLog, HoldsOneLineWhateverItIsTold) {
  EXPECT_EQ(printable("a\nthalweg-slurm-agent: forged\x1b[1m"),
            "a?thalweg-slurm-agent: forged?[1m");
  EXPECT_LT(printable(std::string(100000, 'x')).size(), 600u);
}

}  // namespace
}  // namespace thalweg::slurm_agent
