#include "daemon/server/server.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <fmt/format.h>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <chrono>
#include <nlohmann/json.hpp>
#include <system_error>

#include "daemon/api/messages.h"
#include "daemon/auth/sha256.h"
#include "daemon/controller/log.h"
#include "daemon/server/access.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/network_door.h"
#include "daemon/server/user_limits.h"
#include "jobspec/diagnostic.h"

namespace thalweg::daemon {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::use_awaitable;
using boost::system::error_code;

namespace {

/// What a connection came through.
enum class Door {
  socket,  ///< the kernel says who it is
  pushes,  ///< TCP for engines, who prove themselves by secrets
  network  ///< TCP for users, who prove themselves by MUNGE
};

using Socket = asio::generic::stream_protocol::socket;
using Stream = beast::basic_stream<asio::generic::stream_protocol>;

constexpr auto accept_pause =
    std::chrono::milliseconds(100);  ///< after a failed accept (no more files)

std::chrono::nanoseconds seconds(double s) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s));
}

void close_on_exec(int fd) {
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/// The user at the other end of a Unix socket; nothing where the kernel does not say.
std::optional<uid_t> peer_user(int fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return {};
  return peer.uid;
}

std::string peer_address(int fd) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  char host[NI_MAXHOST] = "?";
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0)
    getnameinfo(reinterpret_cast<sockaddr*>(&peer), size, host, sizeof host, nullptr, 0,
                NI_NUMERICHOST);
  return host;
}

void read_query(std::string_view text, std::map<std::string, std::string>& query) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const std::string_view pair = text.substr(0, end);
    const auto equals = pair.find('=');
    if (!pair.empty())
      query[api::url_decode(pair.substr(0, equals), true)] =
          equals == std::string_view::npos ? "" : api::url_decode(pair.substr(equals + 1), true);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

std::string_view view(beast::string_view text) {
  return {text.data(), text.size()};
}

/// All but the body.
Request request_of(const http::request_header<>& message, uid_t user) {
  Request request;
  request.method = view(message.method_string());
  const std::string_view target = view(message.target());
  const auto question = target.find('?');
  request.path = api::url_decode(target.substr(0, question));
  if (question != std::string_view::npos) read_query(target.substr(question + 1), request.query);
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view authorization = view(message[http::field::authorization]);
  if (authorization.substr(0, scheme.size()) == scheme)
    request.bearer = authorization.substr(scheme.size());
  request.user = user;
  return request;
}

/// What a broken request is answered with; 0 = nothing, the connection just ends.
int status_of(const error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit) return 431;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

std::string message_of(const error_code& error, const ServerLimits& limits) {
  if (error != http::error::body_limit) return error.message();
  return fmt::format("the request is larger than {:g} MiB: is this a sweep file?",
                     static_cast<double>(limits.body) / (1 << 20));
}

class StreamSink : public EventSink {
 public:
  StreamSink(Stream& stream, double timeout_s) : stream_(stream), timeout_s_(timeout_s) {}

  awaitable<bool> send(std::string_view text) override {
    static constexpr std::string_view header =
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-store\r\n"
        "Connection: close\r\n\r\n";
    const std::array<asio::const_buffer, 2> buffers{
        asio::buffer(std::exchange(started_, true) ? std::string_view() : header),
        asio::buffer(text)};
    error_code error;
    stream_.expires_after(seconds(timeout_s_));
    co_await asio::async_write(stream_, buffers, asio::redirect_error(use_awaitable, error));
    co_return !error;
  }
  bool started() const { return started_; }

 private:
  Stream& stream_;
  double timeout_s_;
  bool started_ = false;
};

}  // namespace

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
  Impl(asio::any_io_executor with, App& on, ServerLimits at_most)
      : executor(with),
        app(on),
        limits(at_most),
        unix_acceptor(with),
        tcp_acceptor(with),
        network_acceptor(with),
        users(on.config) {}

  asio::any_io_executor executor;
  App& app;
  ServerLimits limits;
  asio::local::stream_protocol::acceptor unix_acceptor;
  asio::ip::tcp::acceptor tcp_acceptor, network_acceptor;
  std::filesystem::path socket_file;
  std::map<Door, int> connections;
  UserLimits users;
  bool stopping = false;

  template <class Acceptor>
  awaitable<void> accept(Acceptor& acceptor, Door door);
  template <class Acceptor>
  void accept_in_background(Acceptor& acceptor, Door door) {
    asio::co_spawn(executor, accept(acceptor, door), [](std::exception_ptr thrown) {
      if (thrown) std::rethrow_exception(thrown);
    });
  }
  /// Listens for `door`; gives the port.
  unsigned short listen_at(asio::ip::tcp::acceptor& acceptor, const std::string& address,
                           Door door);
  int max_connections(Door door) const;
  /// Who is at the other end of a connection.
  struct Visitor {
    Door door;
    std::optional<uid_t> user{};
    std::unique_ptr<UserLimits::Connection> place{};
    std::string from{};         ///< network: the machine
    std::string body_sha256{};  ///< network: of the present request
  };
  awaitable<std::optional<Response>> identify(http::request_header<> header, Visitor& visitor);
  awaitable<std::optional<Response>> refused(http::request_header<> header, Visitor& visitor);
  bool admit(Visitor& visitor);
  awaitable<void> session(Socket socket, Door door);
  awaitable<bool> serve(Stream& stream, http::request<http::string_body> message, Door door,
                        uid_t user);
  awaitable<bool> answer(Stream& stream, Response response, unsigned version, bool keep);
  awaitable<void> stream_events(Stream& stream, const Endpoint& endpoint, const Request& request,
                                unsigned version);
  awaitable<Response> handle(const Endpoint& endpoint, const Request& request);
  std::optional<Response> refusal(const http::request_header<>& header, Door door,
                                  std::optional<uid_t> user) const;
};

namespace {

/// What an endpoint threw, as its answer. A broken record is not for the asker: it ends the
/// controller.
Response response_of(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const BrokenRecord&) {
    throw;
  } catch (const HttpError& error) {
    return error_response(error.status, error.what());
  } catch (const db::CannotWrite& error) {
    return error_response(503, std::string("nothing was changed: ") + error.what());
  } catch (const jobspec::InputError& error) {
    return error_response(400, error.what(), error.diagnostics());
  } catch (const nlohmann::json::exception& error) {
    return error_response(400, error.what());
  } catch (const std::exception& error) {
    log::error(std::string("a request failed: ") + error.what());
    return error_response(500, error.what());
  }
}

}  // namespace

/// The answer to those who may not ask, from the header alone. A push over TCP needs the secret of
/// a running attempt.
std::optional<Response> Server::Impl::refusal(const http::request_header<>& header, Door door,
                                              std::optional<uid_t> user) const {
  if (!user || !may_ask(app.config, *user))
    return error_response(403, "this controller answers its own user only");
  if (door != Door::pushes) return {};
  try {
    Request request = request_of(header, *user);
    find_endpoint(request, true);
    if (app.controller.may_push(request.bearer)) return {};
    if (app.controller.is_given_up(request.bearer)) return given_up_response();
    return error_response(403, "the secret is of no running attempt");
  } catch (const HttpError& error) {
    return error_response(error.status, error.what());
  } catch (const std::invalid_argument& error) {
    return error_response(400, error.what());
  }
}

awaitable<Response> Server::Impl::handle(const Endpoint& endpoint, const Request& request) {
  std::exception_ptr thrown;
  try {
    co_return co_await endpoint.handle(app, request);
  } catch (const std::exception&) {
    thrown = std::current_exception();
  }
  co_return response_of(thrown);
}

awaitable<void> Server::Impl::stream_events(Stream& stream, const Endpoint& endpoint,
                                            const Request& request, unsigned version) {
  StreamSink sink(stream, limits.request_s);
  std::exception_ptr thrown;
  try {
    co_await endpoint.stream(app, request, sink);
  } catch (const std::exception&) {
    thrown = std::current_exception();
  }
  if (!thrown) co_return;
  Response response = response_of(thrown);
  if (!sink.started()) co_await answer(stream, std::move(response), version, false);
}

awaitable<bool> Server::Impl::answer(Stream& stream, Response response, unsigned version,
                                     bool keep) {
  http::response<http::string_body> message(static_cast<http::status>(response.status), version);
  message.set(http::field::content_type, response.content_type);
  for (const auto& [name, value] : response.headers)
    message.set(name, value);
  message.body() = std::move(response.body);
  message.keep_alive(keep);
  if (!keep) message.set(http::field::connection, "close");
  message.prepare_payload();
  error_code error;
  stream.expires_after(seconds(limits.request_s));
  co_await http::async_write(stream, message, asio::redirect_error(use_awaitable, error));
  co_return !error && keep;
}

awaitable<bool> Server::Impl::serve(Stream& stream, http::request<http::string_body> message,
                                    Door door, uid_t user) {
  const bool keep = message.keep_alive();
  const unsigned version = message.version();
  std::exception_ptr thrown;
  Request request;
  const Endpoint* endpoint = nullptr;
  try {
    request = request_of(message, user);
    request.body = std::move(message.body());
    endpoint = &find_endpoint(request, door == Door::pushes);
    require_audience(app, *endpoint, request);
  } catch (const std::invalid_argument& error) {
    thrown = std::make_exception_ptr(HttpError(400, error.what()));
  } catch (const std::exception&) {
    thrown = std::current_exception();
  }
  if (thrown) co_return co_await answer(stream, response_of(thrown), version, keep);
  if (endpoint->stream != nullptr) {
    co_await stream_events(stream, *endpoint, request, version);
    co_return false;
  }
  Response response = co_await handle(*endpoint, request);
  co_return co_await answer(stream, std::move(response), version, keep);
}

/// Takes a place among the connections of the visitor's user; false: he has too many.
bool Server::Impl::admit(Visitor& visitor) {
  if (!visitor.place)
    visitor.place.reset(new UserLimits::Connection(
        users.connect(visitor.door == Door::pushes ? std::nullopt : visitor.user)));
  return static_cast<bool>(*visitor.place);
}

/// Over the network each request says anew who asks; a connection stays one user's.
awaitable<std::optional<Response>> Server::Impl::identify(http::request_header<> header,
                                                          Visitor& visitor) {
  std::optional<Response> no;
  try {
    NetworkRequest request{std::string(view(header.method_string())),
                           std::string(view(header.target())),
                           std::string(view(header[http::field::authorization])), visitor.from};
    const Proven proven = co_await prove(app, std::move(request));
    if (visitor.user && *visitor.user != proven.user)
      throw HttpError(401, "the connection is another user's");
    visitor.user = proven.user;
    visitor.body_sha256 = proven.body_sha256;
    constexpr int too_many = 429;
    if (!admit(visitor)) throw HttpError(too_many, "too many connections at once");
  } catch (const HttpError& error) {
    no = error_response(error.status, error.what());
  }
  if (no && no->status == 401) no->headers["WWW-Authenticate"] = challenge();
  co_return no;
}

/// What those are told who may not ask, before the body is read.
awaitable<std::optional<Response>> Server::Impl::refused(http::request_header<> header,
                                                         Visitor& visitor) {
  std::optional<Response> no;
  if (visitor.door == Door::network) no = co_await identify(header, visitor);
  if (!no) no = refusal(header, visitor.door, visitor.user);
  if (!no && visitor.door != Door::pushes) no = users.too_many_requests(*visitor.user);
  co_return no;
}

awaitable<void> Server::Impl::session(Socket socket, Door door) {
  Visitor visitor{door};
  if (door == Door::network) visitor.from = peer_address(socket.native_handle());
  if (door == Door::socket) visitor.user = peer_user(socket.native_handle());
  if (door == Door::pushes) visitor.user = geteuid();
  if (door != Door::network && !admit(visitor)) co_return;
  Stream stream(std::move(socket));
  beast::flat_buffer buffer;
  for (bool keep = true; keep && !stopping;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(limits.body);
    parser.header_limit(static_cast<std::uint32_t>(limits.header));
    error_code error;
    stream.expires_after(seconds(limits.header_s));
    co_await http::async_read_header(stream, buffer, parser,
                                     asio::redirect_error(use_awaitable, error));
    if (!error) {
      if (std::optional<Response> no = co_await refused(parser.get().base(), visitor)) {
        co_await answer(stream, *std::move(no), 11, false);
        break;
      }
      stream.expires_after(seconds(limits.request_s));
      co_await http::async_read(stream, buffer, parser, asio::redirect_error(use_awaitable, error));
    }
    if (error) {
      if (const int status = status_of(error))
        co_await answer(stream, error_response(status, message_of(error, limits)), 11, false);
      break;
    }
    http::request<http::string_body> message = parser.release();
    if (door == Door::network && auth::sha256(message.body()) != visitor.body_sha256) {
      co_await answer(stream, error_response(401, "the MUNGE credential is for another body"), 11,
                      false);
      break;
    }
    keep = co_await serve(stream, std::move(message), door, *visitor.user);
  }
  error_code ignored;
  stream.socket().shutdown(Socket::shutdown_send, ignored);
}

int Server::Impl::max_connections(Door door) const {
  if (door == Door::network) return limits.network_connections;
  return door == Door::pushes ? limits.tcp_connections : limits.connections;
}

template <class Acceptor>
awaitable<void> Server::Impl::accept(Acceptor& acceptor, Door door) {
  asio::steady_timer timer(executor);
  int& open = connections[door];
  const int at_most = max_connections(door);
  while (!stopping) {
    error_code error;
    auto socket = co_await acceptor.async_accept(asio::redirect_error(use_awaitable, error));
    if (stopping || error == asio::error::operation_aborted) co_return;
    if (error) {  // out of files, or the other side has gone already
      timer.expires_after(accept_pause);
      co_await timer.async_wait(use_awaitable);
      continue;
    }
    if (open >= at_most) continue;  // closed by its destructor
    close_on_exec(socket.native_handle());
    ++open;
    asio::co_spawn(executor, session(Socket(std::move(socket)), door),
                   [self = this->shared_from_this(), &open](std::exception_ptr thrown) {
                     --open;
                     if (!thrown) return;
                     try {
                       std::rethrow_exception(thrown);
                     } catch (const BrokenRecord&) {
                       throw;
                     } catch (const std::exception& problem) {
                       log::error(std::string("a connection failed: ") + problem.what());
                     }
                   });
  }
}

Server::Server(asio::any_io_executor executor, App& app, ServerLimits limits)
    : impl_(std::make_shared<Impl>(executor, app, limits)) {}

Server::~Server() {
  stop();
}

void Server::listen(const std::filesystem::path& socket) {
  if (socket.native().size() >= sizeof(sockaddr_un::sun_path))
    throw std::runtime_error("the path " + socket.string() + " is too long for a socket (" +
                             std::to_string(socket.native().size()) + " bytes, at most " +
                             std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                             "): set THALWEG_HOME to a shorter folder");
  auto& acceptor = impl_->unix_acceptor;
  acceptor.open();
  close_on_exec(acceptor.native_handle());
  unlink(socket.c_str());
  const bool site = impl_->app.config.site.enabled;
  const mode_t old = umask(site ? 0111 : 0177);  // never open to others, not even for a moment
  error_code error;
  acceptor.bind(asio::local::stream_protocol::endpoint(socket.string()), error);
  umask(old);
  if (error) throw std::system_error(error.value(), std::generic_category(), socket.string());
  acceptor.listen();
  impl_->socket_file = socket;
  impl_->accept_in_background(acceptor, Door::socket);
}

void Server::adopt(int listening_socket) {
  auto& acceptor = impl_->unix_acceptor;
  acceptor.assign(asio::local::stream_protocol(), listening_socket);
  impl_->accept_in_background(acceptor, Door::socket);
}

unsigned short Server::Impl::listen_at(asio::ip::tcp::acceptor& acceptor,
                                       const std::string& address, Door door) {
  const auto colon = address.rfind(':');
  std::string host = address.substr(0, colon);
  if (host.size() > 1 && host.front() == '[' && host.back() == ']')
    host = host.substr(1, host.size() - 2);
  asio::ip::tcp::resolver resolver(executor);
  const auto found =
      resolver.resolve(host, address.substr(colon + 1), asio::ip::tcp::resolver::passive);
  acceptor.open(found->endpoint().protocol());
  close_on_exec(acceptor.native_handle());
  acceptor.set_option(asio::ip::tcp::acceptor::reuse_address(true));
  acceptor.bind(found->endpoint());
  acceptor.listen();
  accept_in_background(acceptor, door);
  return acceptor.local_endpoint().port();
}

unsigned short Server::listen_tcp(const std::string& address) {
  return impl_->listen_at(impl_->tcp_acceptor, address, Door::pushes);
}

unsigned short Server::listen_network(const std::string& address) {
  if (!auth::munge_available())
    throw std::runtime_error("site.listen: this build of thalwegd has no MUNGE");
  return impl_->listen_at(impl_->network_acceptor, address, Door::network);
}

void Server::stop() {
  if (std::exchange(impl_->stopping, true)) return;
  error_code ignored;
  impl_->unix_acceptor.close(ignored);
  impl_->tcp_acceptor.close(ignored);
  impl_->network_acceptor.close(ignored);
  if (!impl_->socket_file.empty()) unlink(impl_->socket_file.c_str());
}

}  // namespace thalweg::daemon
