// Answers of a Slurm agent from a seeded generator: odd JSON, wrong types, missing keys, damaged
// bytes. The backend answers its own questions all the same and throws nothing. How many:
// tests/support/fuzz.h.
#include <gtest/gtest.h>

#include "daemon/backend/slurm.h"
#include "daemon/backend/slurm_status.h"
#include "tests/daemon/slurm/fake.h"
#include "tests/daemon/slurm/waiting.h"
#include "tests/support/fuzz.h"

namespace thalweg::daemon {
namespace {

using nlohmann::json;

const json odd_values[] = {nullptr,
                           true,
                           false,
                           0,
                           -1,
                           17,
                           4294967296,
                           18446744073709551615u,
                           -9223372036854775807,
                           1e300,
                           0.5,
                           "",
                           "x",
                           "PENDING",
                           "RUNNING",
                           "COMPLETED",
                           "CANCELLED",
                           "retry_later",
                           "missing",
                           "refused",
                           "finished",
                           "\xff",
                           json::array(),
                           json::object(),
                           json::array({nullptr}),
                           json::array({json::object()})};

json job(std::mt19937& random) {
  const char* const states[] = {"PENDING",   "RUNNING", "COMPLETED", "FAILED",
                                "CANCELLED", "TIMEOUT", "NODE_FAIL", "?"};
  return {{"job", 17},
          {"token", random() % 2 == 0 ? "t" : "u"},
          {"name", "n"},
          {"state", test::one_of(states, random)},
          {"reason", ""},
          {"nodes", "n1"},
          {"held", random() % 2 == 0},
          {"completing", random() % 4 == 0},
          {"started", 1000},
          {"ended", 2000},
          {"exit", random() % 65536},
          {"steps_exit", random() % 65536}};
}

/// Some members odd, gone, or nested ones odd.
void spoil(json& value, std::mt19937& random) {
  if (value.is_array()) {
    for (json& element : value)
      spoil(element, random);
    return;
  }
  if (!value.is_object()) return;
  std::vector<std::string> keys;
  for (const auto& [key, unused] : value.items())
    keys.push_back(key);
  for (const std::string& key : keys) {
    if (random() % 12 == 0)
      value[key] = test::one_of(odd_values, random);
    else if (random() % 20 == 0)
      value.erase(key);
    else
      spoil(value[key], random);
  }
}

json answer(const std::string& verb, std::mt19937& random) {
  json good{{"ok", true}};
  if (verb == "poll")
    good.update({{"stamp", random()}, {"jobs", json::array({job(random), job(random)})}});
  if (verb == "job") good["job"] = job(random);
  if (verb == "submit") good.update({{"job", 17}, {"note", ""}});
  if (verb == "hello") good.update({{"version", "22.05"}, {"cluster", "c"}});
  if (verb == "nodes") good.update({{"total", 3}, {"usable", 2}});
  if (random() % 4 == 0)
    good = {{"ok", false}, {"outcome", "missing"}, {"code", 1}, {"message", "because"}};
  spoil(good, random);
  // Before the answer, on lines of their own.
  if (random() % 10 == 0) good["_raw"] = test::damaged("{\"id\":1,\"ok\":true}\n", random) + "\n";
  return good;
}

TEST(SlurmStatusFuzz, IsReadOrRefused) {
  test::fuzz(5000, [&](int, std::mt19937& random) {
    json odd = job(random);
    spoil(odd, random);
    try {
      slurm_status(api::from_json<slurm_agent::JobFacts>(odd, api::Reading::strict));
    } catch (const std::invalid_argument&) {
    }
  });
}

TEST(SlurmAnswersFuzz, BreakNoQuestion) {
  const test::FakeAgent fake;
  SlurmBackendConfig config;
  config.agent_program = test::FakeAgent::program();
  config.programs.train = "/opt/thalweg-train";
  config.environment = {"PATH=/bin"};
  config.request_timeout_s = 60;
  config.max_reuse_s = 0;
  LaunchRequest request;
  request.id = {3, 4, 5};
  request.token = "t";
  request.folder = "/attempt";
  const Backend::TrackedJob watched{"17", "t", "/attempt"};
  const std::vector<Backend::TrackedJob> jobs{watched};
  boost::asio::io_context context;
  const auto backend = make_slurm_backend(context.get_executor(), config);
  test::fuzz(150, [&](int, std::mt19937& random) {
    json answers;
    for (const char* verb : {"poll", "job", "submit", "release", "cancel", "hello", "nodes"})
      answers[verb] = json::array({answer(verb, random)});
    const std::string text = answers.dump(-1, ' ', false, json::error_handler_t::replace);
    fake.answers(json::parse(text));
    try {
      test::wait(context, backend->poll(jobs));
      test::wait(context, backend->submit(request));
      test::wait(context, backend->release(request, "17"));
      test::wait(context, backend->cancel(watched, Ending::gently));
      test::wait(context, backend->describe());
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what() << "\n" << text;
    }
  });
}

}  // namespace
}  // namespace thalweg::daemon
