// thalweg serve: reports made anew for each request, for a browser on this machine.
//
// The page asks the controller by the same client as every command, with this user's own rights,
// and only reads. What guards it from other users of the machine is the token in each address: no
// cookie, since browsers send those to every port of a host, other users' servers included.
// Addresses with another host name are refused, so that no web site gets here under a name of its
// own.
#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "cli/commands/report_page.h"
#include "cli/commands/table.h"
#include "cli/http_listener.h"
#include "cli/output/format.h"
#include "cli/output/svg.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "daemon/api/sweep_messages.h"

namespace thalweg::cli {
namespace {

struct ServeOptions {
  std::int64_t port = 0;
  std::vector<std::string> by, best_over;
  Format format;
};

constexpr int max_sweeps = 200;
constexpr std::size_t token_bytes = 16;

/// Takes as long whatever differs.
bool same_token(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  return difference == 0;
}

/// Whatever the port, which a tunnel may change.
bool local_host(const std::string& host) {
  const std::string name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || name == "localhost";
}

HttpReply text_reply(int status, const std::string& text) {
  return {status, "text/plain; charset=utf-8", text + "\n"};
}

class Pages {
 public:
  Pages(Context& context, const ServeOptions& options, std::string token)
      : context_(context), options_(options), token_(std::move(token)) {}

  HttpReply answer(const HttpRequest& request) {
    HttpReply reply = checked(request);
    reply.headers = {{"Cache-Control", "no-store"},
                     {"Content-Security-Policy", "frame-ancestors 'none'"},
                     {"Cross-Origin-Opener-Policy", "same-origin"},
                     {"Cross-Origin-Resource-Policy", "same-origin"},
                     {"Referrer-Policy", "no-referrer"},
                     {"X-Content-Type-Options", "nosniff"}};
    return reply;
  }

 private:
  HttpReply checked(const HttpRequest& request) {
    const auto host = request.headers.find("host");
    if (host == request.headers.end() || !local_host(host->second))
      return text_reply(403, "this server answers at 127.0.0.1 and localhost only");
    const std::string& target = request.target;
    const std::size_t end = 1 + 2 * token_bytes;
    if (target.size() < end || target[0] != '/' ||
        !same_token(std::string_view(target).substr(1, 2 * token_bytes), token_))
      return text_reply(403, "the address lacks the token that `thalweg serve` printed");
    try {
      return page(target.substr(end));
    } catch (const daemon::api::ApiError& error) {
      return text_reply(error.status() == 404   ? 404
                        : error.status() == 400 ? 400
                                                : 503,
                        error.what());
    } catch (const daemon::api::Unreachable& error) {
      return text_reply(503, error.what());
    } catch (const CommandError& error) {
      return text_reply(400, error.what());
    }
  }

  HttpReply page(const std::string& rest) {
    constexpr const char* html = "text/html; charset=utf-8";
    if (rest.empty() || rest == "/") return {200, html, list()};
    std::int64_t sweep = 0;
    const char* const last = rest.data() + rest.size();
    const auto [end, error] = std::from_chars(rest.data() + 1, last, sweep);
    if (rest[0] != '/' || error != std::errc{} || end != last || sweep < 1)
      return text_reply(404, "there is no such page");
    ReportOptions options;
    options.by = options_.by;
    options.best_over = options_.best_over;
    options.live = true;
    options.links = fmt::format("<p><a href=\"/{}/\">all sweeps</a></p>\n", token_);
    return {200, html, ReportPage(context_, options, {sweep, 0, 0}).text()};
  }

  std::string list() {
    const Json answer = context_.controller().get(fmt::format("/v1/sweeps?limit={}", max_sweeps));
    HtmlPage page("Sweeps");
    page.refresh_every(10);
    std::string rows;
    for (const Json& row : list_at(answer, "sweeps")) {
      const auto sweep = read_answer<daemon::api::SweepMessage>(row);
      const auto& counts = sweep.counts;
      rows += fmt::format(
          "<tr><td class=\"number\">{0}</td><td><a href=\"/{1}/{0}\">{2}</a></td><td>{3}</td>"
          "<td class=\"number\">{4}/{5}</td><td>{6}</td><td>{7}</td></tr>\n",
          parse_id(sweep.id).sweep, token_, svg::escaped(sweep.name), svg::escaped(sweep.state),
          counts.finished,
          counts.finished + counts.failed + counts.cancelled + counts.pending + counts.running,
          svg::escaped(sweep.metric), format_time(sweep.submitted));
    }
    const std::string head = fmt::format(
        "<tr><th class=\"number\">id{}</th><th>name</th><th>state</th><th class=\"number\">"
        "finished{}</th><th>metric</th><th>submitted{}</th></tr>",
        page.note("The sweep's number, counted up by the controller."),
        page.note("Trials that have finished, of all, counted in the controller's record."),
        page.note("The controller's clock at the submission, in this machine's time zone."));
    page.section(
        fmt::format("The newest, at most {}", max_sweeps),
        fmt::format("<div class=\"wide\" tabindex=\"0\"><table><thead>{}</thead><tbody>\n{}"
                    "</tbody></table></div>\n",
                    head, rows));
    return page.text();
  }

  Context& context_;
  const ServeOptions& options_;
  std::string token_;
};

HttpListener listen(std::int64_t port) {
  if (port < 0 || port > 65535)
    throw CommandError(exit_bad_input, fmt::format("--port {}: expected 0 to 65535", port));
  try {
    return HttpListener(static_cast<int>(port));
  } catch (const std::system_error& error) {
    if (error.code().value() == EADDRINUSE)
      throw CommandError(exit_failed,
                         fmt::format("another program of this machine has port {}", port),
                         "without --port a free one is taken");
    if (error.code().value() == EACCES)
      throw CommandError(exit_failed, fmt::format("port {} is for privileged programs", port),
                         "without --port a free one is taken");
    throw;
  }
}

int serve(Context& context, const ServeOptions& options) {
  HttpListener listener = listen(options.port);
  context.controller().get("/v1/ping");  // none answers: said here, not in the browser
  const std::string token = random_hex(token_bytes);
  const std::string url = fmt::format("http://127.0.0.1:{}/{}/", listener.port(), token);
  if (options.format.json)
    print_json_line(context.out, {{"url", url}, {"port", listener.port()}});
  else
    context.out << url
                << "\nWho has this address can read your sweeps while this runs; Ctrl-C ends it.\n";
  context.out.flush();
  Pages pages(context, options, token);
  listener.serve([&](const HttpRequest& request) { return pages.answer(request); });
}

}  // namespace

Action make_serve(Arguments& arguments) {
  auto options = std::make_shared<ServeOptions>();
  arguments.option("--port", "PORT", options->port, "of 127.0.0.1 (default: a free one)");
  add_grouping(arguments, options->by, options->best_over);
  add_json(arguments, options->format);
  return [options](Context& context) { return serve(context, *options); };
}

}  // namespace thalweg::cli
