// thalweg serve: reports and other pages made anew for each request, for a browser on this machine.
//
// The page asks the controller by the same client as every command, with this user's own rights,
// and only reads. What guards it from other users of the machine is the token in each address: no
// cookie, since browsers send those to every port of a host, other users' servers included.
// Addresses with another host name are refused, so that no web site gets here under a name of its
// own.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <ostream>
#include <system_error>

#include "cli/commands/report_page.h"
#include "cli/commands/served_pages.h"
#include "cli/commands/table.h"
#include "cli/http_listener.h"
#include "cli/output/text.h"
#include "daemon/api/client.h"
#include "jobspec/id.h"

namespace thalweg::cli {
namespace {

struct ServeOptions {
  std::int64_t port = 0;
  std::vector<std::string> by, best_over;
  Format format;
};

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

  /// Of "sweep=12&sweep=13". Throws CommandError.
  static std::vector<jobspec::Id> ticked(std::string_view query) {
    std::vector<jobspec::Id> sweeps;
    for (std::string_view rest = query; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      constexpr std::string_view key = "sweep=";
      const auto id =
          one.starts_with(key) ? jobspec::Id::parse(one.substr(key.size())) : std::nullopt;
      if (!id || id->trial != 0)
        throw CommandError(exit_bad_input, "compare takes sweeps, as compare?sweep=12&sweep=13");
      if (std::find(sweeps.begin(), sweeps.end(), *id) == sweeps.end()) sweeps.push_back(*id);
    }
    if (sweeps.empty())
      throw CommandError(exit_bad_input, "no sweep was ticked: tick two or more, then compare");
    return sweeps;
  }

  /// The first, beside the others.
  std::string report(const std::string& links, const std::vector<jobspec::Id>& sweeps) {
    ReportOptions options;
    options.by = options_.by;
    options.best_over = options_.best_over;
    for (std::size_t i = 1; i < sweeps.size(); ++i)
      options.others.push_back(sweeps[i].to_string());
    options.live = true;
    options.links = links;
    return ReportPage(context_, options, sweeps.front()).text();
  }

  /// "", "/", "/12", "/12/trials", "/12.3", "/compare?sweep=12&sweep=13".
  HttpReply page(const std::string& rest) {
    constexpr const char* html = "text/html; charset=utf-8";
    const std::string root = "/" + token_ + "/";
    if (rest.empty() || rest == "/") return {200, html, sweeps_page(context_, root)};
    constexpr std::string_view compare = "/compare";
    if (rest == compare || rest.starts_with("/compare?")) {
      const auto sweeps =
          ticked(std::string_view(rest).substr(std::min(rest.size(), compare.size() + 1)));
      const bool one = sweeps.size() == 1;
      return {200, html,
              report(one ? links_of_sweep(root, sweeps[0]) : links_to_list(root), sweeps)};
    }
    constexpr std::string_view trials = "/trials";
    const bool lists = rest.ends_with(trials);
    const auto id = jobspec::Id::parse(
        std::string_view(rest).substr(1, rest.size() - 1 - (lists ? trials.size() : 0)));
    if (rest[0] != '/' || !id || id->attempt != 0 || (lists && id->trial != 0))
      return text_reply(404, "there is no such page");
    if (lists) return {200, html, trials_page(context_, root, *id)};
    if (id->trial != 0) return {200, html, trial_page(context_, root, *id)};
    return {200, html, report(links_of_sweep(root, *id), {*id})};
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
