// thalweg-slurm-agent: the controller's hands on a Slurm site. Speaks protocol.md on its standard
// input and output, started by the controller; or, with --site, on a socket, started by systemd.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/command_line.h"
#include "base/text.h"
#include "daemon/slurm_agent/agent.h"
#include "daemon/slurm_agent/site.h"
#include "daemon/slurm_agent/verbs.h"

namespace {

using namespace thalweg;

constexpr std::uint32_t max_uid = 4294967294;

struct Asked {
  bool help = false, version = false, once = false, site = false;
  slurm_agent::SiteOptions options;
};

std::vector<CommandOption> options_of(Asked& asked) {
  auto& site = asked.options;
  const auto absolute = [](const char* name, const std::string& path) {
    if (path.empty() || path[0] != '/')
      throw UsageError(std::string(name) + " takes an absolute path, not '" + path + "'");
    return path.size() > 1 && path.back() == '/' ? path.substr(0, path.size() - 1) : path;
  };
  return {
      {"--help", "-h", "", "This text", "", [&](const auto&) { asked.help = true; }},
      {"--version", "", "", "Print the version", "", [&](const auto&) { asked.version = true; }},
      {"--site", "", "", "Serve the controller of a whole site on a socket, for many users", "",
       [&](const auto&) { asked.site = true; }},
      {"--socket", "", "PATH",
       "Where to listen, unless systemd hands a socket over (" + site.socket + ")", "FILE",
       [&, absolute](const std::string& value) { site.socket = absolute("--socket", value); }},
      {"--state", "", "DIR", "Where grants are kept (" + site.state + ")", "FILE",
       [&, absolute](const std::string& value) { site.state = absolute("--state", value); }},
      {"--service-user", "", "NAME", "The controller's user, who alone may ask (thalweg)", "",
       [&](const std::string& value) { site.service_user = value; }},
      {"--runs", "", "DIR", "In which attempts' folders are made; may be given again", "FILE",
       [&, absolute](const std::string& value) { site.runs.push_back(absolute("--runs", value)); }},
      {"--min-uid", "", "UID", "No jobs for users below (1000)", "",
       [&](const std::string& value) { site.min_uid = number("--min-uid", value, 1u, max_uid); }},
      {"--slurm-user", "", "UID",
       "Who SlurmUser is, instead of asking Slurm: no jobs for that user", "",
       [&](const std::string& value) {
         site.slurm_user = number("--slurm-user", value, 0u, max_uid);
       }},
      {"--grant-days", "", "N", "How long a user's word counts (90)", "",
       [&](const std::string& value) { site.grant_days = number("--grant-days", value, 1, 3650); }},
      {"--call-limit", "", "SECONDS", "After which a call for a user is ended (55)", "",
       [&](const std::string& value) {
         site.child_limit = std::chrono::seconds(number("--call-limit", value, 1, 3600));
       }},
      {"--munge-socket", "", "PATH", "Of munged, where it is not the machine's", "FILE",
       [&, absolute](const std::string& value) {
         site.munge_socket = absolute("--munge-socket", value);
       }},
      {"--jwt-key", "", "FILE",
       "Slurm's jwt_hs256.key: users may prove themselves by its tokens, too", "FILE",
       [&, absolute](const std::string& value) { site.jwt_key = absolute("--jwt-key", value); }},
      {"--once", "", "", "One question, then the end: what --site runs as the user", "",
       [&](const auto&) { asked.once = true; }}};
}

void print_help(const std::vector<CommandOption>& options) {
  const std::string text =
      "thalweg-slurm-agent talks to Slurm for thalwegd, which starts it: lines of JSON on standard "
      "input\n"
      "and output. SIGHUP: read slurm.conf again. Try it by hand:\n"
      "    echo '{\"id\": 1, \"verb\": \"hello\"}' | (cat; sleep 1) | thalweg-slurm-agent\n\n" +
      option_lines(options);
  std::fputs(in_columns(text).c_str(), stdout);
}

/// What libslurm prints by itself must not end up among the answers.
int private_output() {
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) std::perror("thalweg-slurm-agent");
  return out;
}

/// Descriptors 0 to 2 are never anything else.
void open_standard() {
  for (int fd = ::open("/dev/null", O_RDWR); fd >= 0 && fd <= 2;)
    fd = ::open("/dev/null", O_RDWR);
}

}  // namespace

int main(int argc, char** argv) {
  Asked asked;
  const auto options = options_of(asked);
  try {
    const auto words = parse_command_line(options, {argv + 1, argv + argc}, Names::anywhere);
    if (!words.empty()) throw UsageError("it takes no '" + words[0] + "'");
    if (asked.site && asked.once) throw UsageError("--site and --once exclude each other");
  } catch (const UsageError& error) {
    std::fprintf(stderr, "thalweg-slurm-agent: %s\nthalweg-slurm-agent --help lists the options\n",
                 error.what());
    return 2;
  }
  if (asked.help) {
    print_help(options);
    return 0;
  }
  if (asked.version) {
    std::puts("thalweg-slurm-agent " THALWEG_VERSION);
    return 0;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, [](int) { slurm_agent::request_reload(); });
  int status = 1;
  if (asked.site) {
    open_standard();
    status = slurm_agent::serve_site(asked.options);
  } else if (const int out = private_output(); out >= 0) {
    status = asked.once ? slurm_agent::serve_once(STDIN_FILENO, out)
                        : slurm_agent::serve(STDIN_FILENO, out);
  }
  std::fflush(nullptr);
  std::_Exit(status);  // a worker may still be inside libslurm
}
