// thalweg serve: who is answered, and with what.
#include <signal.h>
#include <sys/wait.h>

#include <cstdio>
#include <memory>

#include "base/http_connection.h"
#include "tests/cli/command_fixture.h"

namespace thalweg::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class CliServe : public CommandTest {
 protected:
  ~CliServe() override {
    if (server_ > 0) kill(server_, SIGKILL), waitpid(server_, nullptr, 0);
  }

  /// The path with the token that a server prints.
  std::string start_server(const std::vector<std::string>& more = {}) {
    FakeController& fake = controller();
    fake.answer("GET /v1/sweeps?limit=200",
                {{"sweeps", {{{"id", "12"}, {"name", "<b>first"}, {"state", "running"}}}}});
    fake.answer("GET /v1/sweeps/12?trials=0", {{"id", "12"},
                                               {"name", "first"},
                                               {"metric", "loss"},
                                               {"state", "running"},
                                               {"submitted", 1760000000}});
    fake.answer("GET /v1/sweeps/12/compare?top=500", {{"rows", json::array()}});
    refuse_studies(fake);
    fake.answer("POST /v1/query", {{"columns", {"sweep", "best"}}, {"rows", {{12, 0.125}}}});
    answer_trials(fake);
    const std::string said = folder("said").string();
    std::string words = program() + " serve --json";
    for (const std::string& word : more)
      words += " " + word;
    server_ = start({"/bin/sh", "-c", "exec " + words + " > " + said}, options());
    EXPECT_TRUE(eventually([&] {
      std::error_code error;
      return std::filesystem::file_size(said, error) > 0 && !error;
    }));
    const json told = json::parse(read_file(said));
    port_ = std::to_string(told["port"].get<int>());
    const std::string url = told["url"];
    EXPECT_THAT(url, HasSubstr("http://127.0.0.1:" + port_ + "/"));
    return url.substr(url.find('/', 8));
  }

  static void answer_trials(FakeController& fake) {
    const json trial = {{"id", "12.3"},
                        {"state", "failed"},
                        {"reason", "rank 1 <died>"},
                        {"seed", 7},
                        {"parameters", {{"optimizer.lr", 0.1}}},
                        {"resources", {{"nodes", 2}}},
                        {"ended", 1760000050},
                        {"attempts", 1},
                        {"progress", {{"step", 40}, {"steps", 60}, {"best", 0.25}}}};
    fake.answer("GET /v1/sweeps/12", {{"id", "12"},
                                      {"name", "first"},
                                      {"metric", "loss"},
                                      {"state", "running"},
                                      {"trials", {trial}}});
    json whole = trial;
    whole["metrics"] = {{"loss", {{"last", 0.5}, {"step", 40}, {"min", 0.25}, {"max", 2}}}};
    whole["config"] = {{"epochs", 5}};
    whole["attempts"] = {{{"id", "12.3.1"},
                          {"state", "failed"},
                          {"backend", "local"},
                          {"handle", "pid:7"},
                          {"folder", "/runs/12.3.1"},
                          {"launched", 1760000000},
                          {"started", 1760000010},
                          {"ended", 1760000050},
                          {"nodes", 2},
                          {"exit_code", 1}}};
    fake.answer("GET /v1/trials/12.3", whole);
    fake.answer("GET /v1/trials/12.3/curve?points=500&metric=loss",
                {{"points", {{10, 1.0, 1760000020, 1}, {40, 0.5, 1760000040, 1}}}});
    fake.answer("GET /v1/studies/timeline?trials=12.3", sample("timeline"));
    fake.answer_text("GET /v1/attempts/12.3.1/log?stream=stderr&tail=32768",
                     "cut line\nout of <memory>\n", "X-Next-Offset: 90000\r\nX-Ended: 1\r\n");
    fake.answer_text("GET /v1/attempts/12.3.1/log?stream=stdout&tail=32768", "",
                     "X-Next-Offset: 0\r\nX-Ended: 1\r\n");
  }

  HttpAnswer get(const std::string& path, const std::string& method = "GET",
                 const std::string& host = {}) {
    HttpConnection connection({{}, "127.0.0.1", port_}, 20);
    HttpHeaders headers;
    if (!host.empty()) headers.emplace_back("Host", host);
    connection.send(method, path, headers, "");
    HttpAnswer answer = connection.receive_head();
    if (method != "HEAD") connection.receive_body(answer);
    return answer;
  }

  pid_t server_ = -1;
  std::string port_;
};

TEST_F(CliServe, ShowsTheListAndAReport) {
  const std::string root = start_server();
  const HttpAnswer list = get(root);
  EXPECT_EQ(list.status, 200);
  EXPECT_THAT(list.body, HasSubstr("<a href=\"" + root + "12\">&lt;b&gt;first</a>"));
  EXPECT_EQ(list.headers.at("cache-control"), "no-store");
  EXPECT_EQ(list.headers.at("referrer-policy"), "no-referrer");
  EXPECT_THAT(list.body, HasSubstr("<td class=\"number\" data-v=\"0.125\">0.125</td>"));
  EXPECT_THAT(list.body, HasSubstr("<span class=\"state running\">running</span>"));
  const HttpAnswer report = get(root + "12");
  EXPECT_EQ(report.status, 200);
  EXPECT_THAT(report.body, HasSubstr("<h1>Sweep 12 first</h1>"));
  EXPECT_THAT(report.body, HasSubstr("connect-src 'self'")) << "it refreshes itself";
  EXPECT_EQ(get(root + "12", "HEAD").status, 200);
  EXPECT_EQ(get(root + "13").status, 404);
  EXPECT_EQ(get(root + "12/cancel").status, 404);
  EXPECT_EQ(get(root + "../v1/ping").status, 404);
}

TEST_F(CliServe, ShowsTrialsWithWhatTheyPrinted) {
  const std::string root = start_server();
  EXPECT_THAT(get(root + "12").body, HasSubstr("<a href=\"" + root + "12/trials\">trials</a>"));
  const HttpAnswer trials = get(root + "12/trials");
  EXPECT_EQ(trials.status, 200);
  EXPECT_THAT(trials.body, HasSubstr("<a href=\"" + root + "12.3\">12.3</a>"));
  EXPECT_THAT(trials.body, HasSubstr("rank 1 &lt;died&gt;"));
  const HttpAnswer trial = get(root + "12.3");
  EXPECT_EQ(trial.status, 200) << trial.body;
  for (const char* part :
       {"<h1>Trial 12.3 of first</h1>", "rank 1 &lt;died&gt;", "out of &lt;memory&gt;", "epochs: 5",
        "pid:7", "/runs/12.3.1", "40 of 60", "<figure id=\"curves\">"})
    EXPECT_THAT(trial.body, HasSubstr(part));
  EXPECT_THAT(trial.body, Not(HasSubstr("cut line"))) << "the end begins with a whole line";
  EXPECT_EQ(get(root + "12.4").status, 404);
  EXPECT_EQ(get(root + "12.3.1").status, 404);
  EXPECT_EQ(get(root + "12.3/trials").status, 404);
}

TEST_F(CliServe, ComparesTickedSweeps) {
  const std::string root = start_server();
  FakeController& fake = controller();
  fake.answer("GET /v1/sweeps/13?trials=0", {{"id", "13"},
                                             {"name", "<i>second"},
                                             {"metric", "loss"},
                                             {"state", "finished"},
                                             {"submitted", 1760000000},
                                             {"ended", 1760000100}});
  fake.answer("GET /v1/sweeps/12/compare?top=500&also=13",
              {{"sweeps", {"12", "13"}},
               {"metric", "loss"},
               {"by", {"lr"}},
               {"rows",
                {{{"rank", 1}, {"group", {{"lr", 0.1}}}, {"n", 1}, {"verdict", "best"}},
                 {{"rank", 2}, {"group", {{"lr", 0.2}}}, {"n", 1}, {"verdict", "not this"}}}}});
  fake.answer(
      "GET /v1/sweeps/12/compare?top=50&also=13&by=sweep",
      {{"sweeps", {"12", "13"}},
       {"metric", "loss"},
       {"by", {"sweep"}},
       {"rows",
        {{{"rank", 1}, {"group", {{"sweep", 13}}}, {"n", 1}, {"verdict", "best"}},
         {{"rank", 2}, {"group", {{"sweep", 12}}}, {"n", 1}, {"verdict", "1 seed, 4 needed"}}}}});
  const std::string list = get(root).body;
  EXPECT_THAT(list, HasSubstr("<form action=\"" + root + "compare\" method=\"get\">"));
  EXPECT_THAT(list, HasSubstr("<input type=\"checkbox\" name=\"sweep\" value=\"12\">"));
  EXPECT_THAT(list, HasSubstr("form-action 'self'")) << "the policy of the page allows its form";
  const HttpAnswer both = get(root + "compare?sweep=12&sweep=13&sweep=12");
  EXPECT_EQ(both.status, 200) << both.body;
  for (const char* part : {"<h1>Sweeps 12 and 13</h1>", "Sweep 13 comes first", "1 seed, 4 needed",
                           "&lt;i&gt;second", "connect-src 'self'"})
    EXPECT_THAT(both.body, HasSubstr(part));
  EXPECT_THAT(get(root + "compare?sweep=12").body, HasSubstr("<h1>Sweep 12 first</h1>"));
  for (const char* nonsense : {"compare", "compare?", "compare?sweep=", "compare?sweep=12.3",
                               "compare?sweep=12&", "compare?x=1", "compare?sweep=12&&sweep=13"})
    EXPECT_EQ(get(root + nonsense).status, std::string(nonsense) == "compare?sweep=12&" ? 200 : 400)
        << nonsense;
  EXPECT_EQ(get(root + "compare?sweep=12&sweep=99").status, 404);
  EXPECT_EQ(get(root + "comparex").status, 404);
}

TEST_F(CliServe, AnswersNobodyWithoutTheToken) {
  const std::string root = start_server();
  std::string wrong = root;
  wrong[5] = wrong[5] == 'a' ? 'b' : 'a';
  const auto before = controller().requests().size();
  for (const std::string& path : {std::string("/"), std::string("/12"), wrong, wrong + "12",
                                  root.substr(0, root.size() - 2), "/x" + root})
    EXPECT_EQ(get(path).status, 403) << path;
  EXPECT_THAT(get("/").body, Not(HasSubstr(root.substr(1, 8))));
  EXPECT_EQ(controller().requests().size(), before) << "the controller was asked";
  EXPECT_GE(root.size(), 34u) << "128 bits as hexadecimal digits";
}

TEST_F(CliServe, AnswersNoOtherHostName) {
  const std::string root = start_server();
  EXPECT_EQ(get(root, "GET", "evil.example:" + port_).status, 403);
  EXPECT_EQ(get(root, "GET", "127.0.0.1.evil.example").status, 403);
  EXPECT_EQ(get(root, "GET", "localhost:1234").status, 200) << "the port of a tunnel";
}

TEST_F(CliServe, TakesOnlyReadingMethods) {
  const std::string root = start_server();
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS"})
    EXPECT_EQ(get(root, method).status, 405) << method;
  get(root);
  get(root + "12");
  for (const auto& request : controller().requests())
    EXPECT_TRUE(request.method == "GET" || request.target == "/v1/query") << request.target;
}

TEST_F(CliServe, ListensOnThisMachineOnly) {
  start_server();
  const std::string sockets = read_file("/proc/net/tcp") + read_file("/proc/net/tcp6");
  char hex[8];
  std::snprintf(hex, sizeof hex, ":%04X", std::stoi(port_));
  EXPECT_THAT(sockets, HasSubstr("0100007F" + std::string(hex) + " 00000000:0000 0A"));
  EXPECT_THAT(sockets, Not(HasSubstr("00000000" + std::string(hex) + " 00000000:0000 0A")));
  EXPECT_THAT(command_line(server_), HasSubstr("serve"));
}

TEST_F(CliServe, ClientsThatSayNothingKeepNobodyWaiting) {
  const std::string root = start_server();
  std::vector<std::unique_ptr<HttpConnection>> silent;
  for (int i = 0; i < 100; ++i)
    silent.push_back(std::make_unique<HttpConnection>(HttpAddress{{}, "127.0.0.1", port_}, 20));
  EXPECT_EQ(get(root).status, 200);
}

TEST_F(CliServe, SaysWhichPortIsTaken) {
  start_server();
  const Outcome second = thalweg({"serve", "--port", port_});
  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr("another program of this machine has port " + port_));
  EXPECT_THAT(second.err, HasSubstr("without --port a free one is taken"));
  EXPECT_EQ(thalweg({"serve", "--port", "70000"}).code, 2);
}

TEST_F(CliServe, CtrlCEndsIt) {
  start_server();
  ASSERT_EQ(kill(server_, SIGINT), 0);
  int status = 0;
  ASSERT_TRUE(eventually([&] { return waitpid(server_, &status, WNOHANG) == server_; }));
  server_ = -1;
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

}  // namespace
}  // namespace thalweg::test
