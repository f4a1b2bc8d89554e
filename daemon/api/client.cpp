#include "daemon/api/client.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

#include "base/http_connection.h"
#include "base/machine.h"
#include "base/process.h"
#include "daemon/api/credentials.h"
#include "daemon/api/messages.h"
#include "daemon/auth/munge.h"
#include "daemon/auth/sha256.h"

namespace thalweg::daemon::api {

namespace fs = std::filesystem;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

namespace {

constexpr double answer_timeout_s = 120;  ///< longer than the longest query the controller allows
constexpr double ping_timeout_s = 5;
constexpr double launch_timeout_s = 60;  ///< thalwegd gives up long before
constexpr auto start_timeout = std::chrono::seconds(20);
constexpr auto reconnect_timeout = std::chrono::seconds(30);
constexpr auto restart_pause =
    std::chrono::seconds(2);  ///< whoever killed it may start another one
constexpr auto retry_pause = std::chrono::milliseconds(100);
constexpr int exit_already_running = 3;  ///< thalwegd: another controller holds this home

std::string end_of_file(const fs::path& file, std::size_t lines) {
  std::ifstream in(file);
  std::vector<std::string> all;
  for (std::string line; std::getline(in, line);)
    all.push_back(line);
  std::string text;
  for (std::size_t i = all.size() > lines ? all.size() - lines : 0; i < all.size(); ++i)
    text += "\n  " + all[i];
  return text;
}

/// Runs `thalwegd --home DIR`, which returns when the controller in the background answers or has
/// given up. Gives its exit code and what it printed.
std::pair<int, std::string> start_controller(const fs::path& home) {
  const fs::path program = find_program("thalwegd");
  if (program.empty()) throw Unreachable("thalwegd is neither beside this program nor in PATH");
  try {
    const ProgramOutput output =
        run_program({program.string(), "--home", home.string()}, launch_timeout_s);
    std::string text = output.out + output.err;
    while (!text.empty() && text.back() == '\n')
      text.pop_back();
    return {output.code, text};
  } catch (const std::system_error& e) {
    throw Unreachable(e.what());
  }
}

/// "host:port", with [::1]:port for IPv6. Throws Unreachable.
HttpAddress remote_address(const std::string& remote) {
  const auto colon = remote.rfind(':');
  std::string host = remote.substr(0, colon == std::string::npos ? 0 : colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  const std::string port = colon == std::string::npos ? "" : remote.substr(colon + 1);
  if (host.empty() || port.empty() || port.find_first_not_of("0123456789") != std::string::npos)
    throw Unreachable("THALWEG_CONTROLLER=" + remote + ": expected host:port");
  return {{}, host, port};
}

/// Throws ConnectionLost.
std::unique_ptr<HttpConnection> connect(const Home& home, double timeout_s) {
  if (!home.remote.empty())
    return std::make_unique<HttpConnection>(remote_address(home.remote), timeout_s);
  if (home.socket().native().size() > kMaxSocketPath)
    throw ConnectionLost("the path is too long for a socket (at most " +
                             std::to_string(kMaxSocketPath) +
                             " bytes): set THALWEG_HOME to a shorter folder",
                         false);
  return std::make_unique<HttpConnection>(HttpAddress{home.socket(), "", ""}, timeout_s);
}

/// The user that credentials must be made for, out of "MUNGE uid=990".
std::optional<uid_t> reader_of(const HttpAnswer& answer) {
  constexpr std::string_view challenge = "MUNGE uid=";
  const auto header = answer.headers.find("www-authenticate");
  if (header == answer.headers.end() || !header->second.starts_with(challenge)) return {};
  return static_cast<uid_t>(std::strtoul(header->second.c_str() + challenge.size(), nullptr, 10));
}

json parse_body(const HttpAnswer& answer) {
  json body = json::parse(answer.body, nullptr, false);
  if (body.is_discarded()) body = answer.body;
  return body;
}

}  // namespace

ApiError::ApiError(int status, json body)
    : std::runtime_error(message_from(body)), status_(status), body_(std::move(body)) {}

struct Client::Impl {
  Home home;
  std::unique_ptr<HttpConnection> connection;
  json about;
  std::optional<uid_t> reader;  ///< of credentials; asked for at the first request

  /// Throws ConnectionLost, Unreachable.
  void send(HttpConnection& to, const std::string& method, const std::string& path,
            const std::string& body) {
    HttpHeaders headers;
    if (method != "GET") headers.emplace_back("Content-Type", "application/json");
    if (!home.remote.empty()) headers.emplace_back("Authorization", proof(method, path, body));
    to.send(method, path, headers, body);
  }

  std::string proof(const std::string& method, const std::string& path, const std::string& body) {
    if (!reader) {
      const auto asking = connect(home, ping_timeout_s);
      asking->send("GET", "/v1/ping", {}, "");
      reader = reader_of(asking->receive());
    }
    if (!reader)
      throw Unreachable("what answers at " + home.remote +
                        " is no controller of a site (site.listen in its config.yaml)");
    try {
      return "MUNGE " +
             munge_credential(auth::request_payload(method, path, auth::sha256(body)), *reader);
    } catch (const NoCredential& error) {
      throw Unreachable(std::string(error.what()) +
                        ": commands to a controller on another machine (THALWEG_CONTROLLER) need "
                        "munge on this one");
    }
  }

  HttpAnswer request(const std::string& method, const std::string& path, const std::string& body,
                     double timeout_s = answer_timeout_s) {
    // A kept connection may have been closed meanwhile; only a GET may be sent twice.
    const bool kept = connection != nullptr && method == "GET";
    if (!kept) connection.reset();
    try {
      if (!connection) connection = connect(home, timeout_s);
      send(*connection, method, path, body);
      HttpAnswer answer = connection->receive();
      if (const auto it = answer.headers.find("connection");
          it != answer.headers.end() && it->second == "close")
        connection.reset();
      return answer;
    } catch (const ConnectionLost& error) {
      connection.reset();
      if (kept && !error.answered) return request(method, path, body, timeout_s);
      throw Unreachable("no controller answers at " + home.where() + " (" + error.what() + "); " +
                        (home.remote.empty()
                             ? "start one with `thalweg daemon start`"
                             : "it is the site's (THALWEG_CONTROLLER): ask the administrator"));
    }
  }

  json checked(const HttpAnswer& answer) {
    json body = parse_body(answer);
    if (answer.status >= 300) throw ApiError(answer.status, std::move(body));
    return body;
  }
};

Client::Client(Home home) : impl_(std::make_unique<Impl>()) {
  impl_->home = std::move(home);
}
Client::~Client() = default;

bool Client::ping() {
  try {
    impl_->connection.reset();
    const HttpAnswer answer = impl_->request("GET", "/v1/ping", "", ping_timeout_s);
    impl_->connection.reset();  // it has the short timeout of a ping
    impl_->about = json::parse(answer.body, nullptr, false);
    return answer.status == 200;
  } catch (const Unreachable&) {
    return false;
  }
}

const json& Client::about() const {
  return impl_->about;
}

pid_t Client::process_id() const {
  if (!impl_->home.remote.empty()) return 0;
  std::ifstream in(impl_->home.status_file());
  const json status = json::parse(in, nullptr, false);
  if (!status.is_object() || !status.contains("pid")) return 0;
  const pid_t pid = status["pid"].get<pid_t>();
  // A dead one that nobody has waited for (a container without an init) still has a number.
  return pid > 0 && process_stat(pid) ? pid : 0;
}

bool Client::was_killed() const {
  if (!impl_->home.remote.empty()) return false;
  std::error_code error;
  return fs::exists(impl_->home.status_file(), error) && process_id() == 0;
}

void Client::ensure_running() {
  if (!impl_->home.remote.empty()) {
    impl_->about = get("/v1/ping");
    return;
  }
  if (ping()) return;
  // Nor may root: what it wrote there the owner's controller could not write any more.
  struct stat record {};
  if (stat(impl_->home.database().c_str(), &record) == 0 && record.st_uid != geteuid())
    throw Unreachable("the controller of " + impl_->home.directory.string() +
                      " does not answer, and is another user's to start: ask the administrator, or "
                      "set THALWEG_HOME to a folder of your own on a local disk");
  const auto [code, text] = start_controller(impl_->home.directory);
  const auto deadline = Clock::now() + start_timeout;
  if (code == 0 || code == exit_already_running) do {
      if (ping()) return;
      std::this_thread::sleep_for(retry_pause);
    } while (Clock::now() < deadline && process_id() != 0);
  std::string message = "the controller did not start";
  if (!text.empty()) message += ": " + text;
  if (const std::string end = end_of_file(impl_->home.log(), 10); !end.empty())
    message += "\nend of " + impl_->home.log().string() + ":" + end;
  throw Unreachable(message);
}

json Client::get(const std::string& path) {
  return impl_->checked(impl_->request("GET", path, ""));
}

json Client::post(const std::string& path, const json& body) {
  return impl_->checked(impl_->request("POST", path, json_text(body)));
}

std::string Client::get_text(const std::string& path) {
  return get_log(path).text;
}

Client::LogPart Client::get_log(const std::string& path) {
  HttpAnswer answer = impl_->request("GET", path, "");
  if (answer.status >= 300) throw ApiError(answer.status, parse_body(answer));
  LogPart part;
  if (const auto it = answer.headers.find("x-next-offset"); it != answer.headers.end())
    part.next_offset = std::atoll(it->second.c_str());
  if (const auto it = answer.headers.find("x-ended"); it != answer.headers.end())
    part.ended = it->second == "1";
  part.text = std::move(answer.body);
  return part;
}

namespace {

enum class StreamEnd { done, lost };

/// One connection's worth of a stream. Sets `heard` when an event has come.
StreamEnd follow(const std::unique_ptr<HttpConnection>& connection,
                 const std::function<bool(const json&)>& each, bool& heard) {
  HttpAnswer head = connection->receive_head();
  if (head.status >= 300) {
    connection->receive_body(head);
    throw ApiError(head.status, parse_body(head));
  }
  std::string line, data;
  while (connection->read_line(line)) {
    if (line.rfind("data: ", 0) == 0) {
      data += line.substr(6);
    } else if (line == "event: end") {
      return StreamEnd::done;
    } else if (line.empty() && !data.empty()) {
      heard = true;
      if (!each(json::parse(std::exchange(data, {})))) return StreamEnd::done;
    }
  }
  return StreamEnd::lost;
}

}  // namespace

void Client::stream(const std::string& path, const std::function<bool(const json& event)>& each,
                    const std::function<void(const std::string&)>& tell) {
  auto deadline = Clock::now() + reconnect_timeout;
  auto restart_at = Clock::now() + restart_pause;
  for (;;) {
    bool heard = false;
    std::string problem = "the controller closed the connection";
    try {
      const auto connection = connect(impl_->home, answer_timeout_s);
      impl_->send(*connection, "GET", path, "");
      if (follow(connection, each, heard) == StreamEnd::done) return;
    } catch (const ConnectionLost& error) {
      problem = error.what();
    }
    if (heard) deadline = Clock::now() + reconnect_timeout;
    if (heard) restart_at = Clock::now() + restart_pause;
    if (Clock::now() >= restart_at && was_killed()) {
      if (tell) tell("the controller was killed: starting it again");
      ensure_running();
    }
    if (Clock::now() >= deadline)
      throw Unreachable(
          "lost the controller at " + impl_->home.where() + " (" + problem + ")" +
          (impl_->home.remote.empty() ? "; start it with `thalweg daemon start`" : ""));
    std::this_thread::sleep_for(retry_pause);
  }
}

}  // namespace thalweg::daemon::api
