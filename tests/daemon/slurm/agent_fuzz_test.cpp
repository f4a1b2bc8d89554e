// Lines to the Slurm agent from a seeded generator: each gets one answer, and the next is answered
// as before. How many: tests/support/fuzz.h.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/slurm_agent/agent.h"
#include "daemon/slurm_agent/messages.h"
#include "daemon/slurm_agent/options.h"
#include "tests/support/fuzz.h"

namespace thalweg::slurm_agent {
namespace {

using nlohmann::json;

const json odd_values[] = {nullptr,
                           true,
                           0,
                           -1,
                           4294967296,
                           18446744073709551615u,
                           1e300,
                           0.5,
                           "",
                           "x",
                           "\xff",
                           std::string(5000, 'y'),
                           json::array(),
                           json::object(),
                           json::array({1, "a=b"})};
const char* const verbs[] = {"hello",     "ping",   "submit",  "will_run",   "release",
                             "cancel",    "poll",   "job",     "partitions", "nodes",
                             "authorize", "revoke", "prepare", "x",          ""};

json question(std::mt19937& random) {
  json q{{"verb", test::one_of(verbs, random)},
         {"job", 17},
         {"token", "t"},
         {"since", 5},
         {"signal", "TERM"},
         {"credential", "MUNGE:x:"},
         {"digest", "d"},
         {"grant", "g"},
         {"folder", "/1/2/3"},
         {"files", {{"a", "b"}}},
         {"script", "#!/bin/sh\n"},
         {"environment", json::array({"A=b"})},
         {"options",
          {{"job-name", "n"},
           {"chdir", "/tmp"},
           {"output", "/tmp/o"},
           {"error", "/tmp/e"},
           {"nodes", "1"},
           {"ntasks", "1"},
           {"time", "10"},
           {"gres", "gpu:1,fast"}}}};
  if (random() % 4 == 0) q["as"] = {{"uid", 1001}, {"grant", "g"}};
  std::vector<std::string> keys;
  for (const auto& [key, unused] : q.items())
    keys.push_back(key);
  for (std::size_t i = random() % 4; i > 0; --i)
    q[test::one_of(keys, random)] = test::one_of(odd_values, random);
  if (random() % 4 == 0) q.erase(test::one_of(keys, random));
  return q;
}

std::string line(int number, std::mt19937& random) {
  json q = question(random);
  q["id"] = number;
  std::string text = q.dump(-1, ' ', false, json::error_handler_t::replace);
  if (random() % 4 == 0) text = test::damaged(std::move(text), random);
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text.empty() ? "{" : text;
}

TEST(AgentFuzz, RequestsAreReadOrRefused) {
  test::fuzz(5000, [](int, std::mt19937& random) {
    const json line = question(random);
    each_question([&]<class Question>() {
      try {
        read_question<Question>(line);
      } catch (const BadQuestion&) {
      }
    });
  });
}

TEST(AgentFuzz, OptionsAreSetOrRefused) {
  const char* const odd[] = {"",      "x",   "-1",    "99999999999999999999",
                             "4096M", "M",   "USR1@", "@",
                             "now+",  ",,,", "2@x",   "\xff"};
  test::fuzz(5000, [&](int, std::mt19937& random) {
    const OptionRow& row = option_rows()[random() % option_rows().size()];
    Description description;
    try {
      set_options(description, {{row.name, test::one_of(odd, random)}});
    } catch (const BadOption&) {
    }
  });
}

TEST(AgentFuzz, EveryLineGetsOneAnswer) {
  ::setenv("SLURM_CONF", "/nonexistent/slurm.conf", 1);
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  std::thread agent([fd = ends[1]] { EXPECT_EQ(serve(fd, fd), 0); });
  std::string heard;
  const auto hear = [&] {
    for (;;) {
      if (const auto end = heard.find('\n'); end != std::string::npos) {
        std::string one = heard.substr(0, end);
        heard.erase(0, end + 1);
        return one;
      }
      pollfd ready{ends[0], POLLIN, 0};
      char block[65536];
      const ssize_t n = ::poll(&ready, 1, 20000) == 1 ? ::read(ends[0], block, sizeof block) : 0;
      if (n <= 0) return std::string();
      heard.append(block, static_cast<std::size_t>(n));
    }
  };
  test::fuzz(500, [&](int number, std::mt19937& random) {
    const std::string text = line(number, random);
    ASSERT_EQ(::write(ends[0], (text + "\n").data(), text.size() + 1),
              static_cast<ssize_t>(text.size() + 1));
    const json answer = json::parse(hear(), nullptr, false);
    ASSERT_TRUE(answer.is_object()) << text;
    ASSERT_TRUE(answer.contains("id")) << text;
    ASSERT_TRUE(answer.at("ok").is_boolean()) << text;
  });
  // Its ends stay open: the workers, which are never joined, hold the other one.
  ::shutdown(ends[0], SHUT_WR);
  agent.join();
}

}  // namespace
}  // namespace thalweg::slurm_agent
