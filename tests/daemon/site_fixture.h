// A site's controller with a sweep of each of two users, asked as any user.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_future.hpp>
#include <future>
#include <sstream>

#include "daemon/server/access.h"
#include "tests/daemon/server_fixture.h"

namespace thalweg::daemon {

class NoSink : public EventSink {
 public:
  boost::asio::awaitable<bool> send(std::string_view text) override {
    sent += text;
    co_return false;
  }
  std::string sent;
};

struct Answer {
  int status = 0;
  std::string text;
};

class SiteTest : public ServerTest {
 protected:
  void SetUp() override {
    world.cluster.steps = 1'000'000;  // nothing ends
    ServerTest::SetUp();
    running->there([&] {
      running->config().site.enabled = true;
      hers = submitted(alice);
      his = submitted(bob);
      return 0;
    });
    ASSERT_NE(hers, his);
  }
  /// The numbers have no accounts: their names are the numbers.
  std::int64_t submitted(uid_t uid, std::string name = {}) {
    if (name.empty()) name = std::to_string(uid);
    return test::submit(running->controller(), test::sweep_of(2),
                        Owner{uid, uid, name, name + "-grant"});
  }

  Answer ask(uid_t user, const std::string& method, const std::string& target,
             const json& body = {}) {
    return boost::asio::co_spawn(running->executor(),
                                 answer_to(running->app(), request_of(user, method, target, body)),
                                 boost::asio::use_future)
        .get();
  }
  static Request request_of(uid_t user, const std::string& method, const std::string& target,
                            const json& body) {
    Request request;
    request.method = method;
    request.path = target.substr(0, target.find('?'));
    if (const auto at = target.find('?'); at != std::string::npos) {
      std::istringstream pairs(target.substr(at + 1));
      for (std::string pair; std::getline(pairs, pair, '&');)
        request.query[pair.substr(0, pair.find('='))] = pair.substr(pair.find('=') + 1);
    }
    request.body = body.is_null() ? "{}" : body.dump();
    request.user = user;
    return request;
  }
  static boost::asio::awaitable<Answer> answer_to(App& app, Request request) {
    NoSink sink;
    Answer answer;
    try {
      const Endpoint& endpoint = find_endpoint(request, false);
      require_audience(app, endpoint, request);
      if (endpoint.stream != nullptr) {
        co_await endpoint.stream(app, request, sink);
        answer = {200, sink.sent};
      } else {
        Response response = co_await endpoint.handle(app, request);
        answer = {response.status, response.body};
      }
    } catch (const HttpError& error) {
      answer = {error.status, error.what()};
    } catch (const std::exception& error) {
      answer = {400, error.what()};
    }
    co_return answer;
  }

  std::int64_t hers = 0, his = 0;
};

}  // namespace thalweg::daemon
