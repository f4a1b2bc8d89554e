// thalweg-slurm-agent: the controller's hands on a Slurm site. Speaks protocol.md on its standard
// input and output; started by the controller, not by people.
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "daemon/slurm_agent/agent.h"

int main(int argc, char** argv) {
  if (argc > 1) {
    const bool help = std::strcmp(argv[1], "--help") == 0;
    std::fprintf(
        help ? stdout : stderr,
        "thalweg-slurm-agent talks to Slurm for thalwegd, which starts it: lines of JSON on "
        "standard input\n"
        "and output. SIGHUP: read slurm.conf again. It takes no arguments. Try it by hand:\n"
        "    echo '{\"id\": 1, \"verb\": \"hello\"}' | (cat; sleep 1) | thalweg-slurm-agent\n");
    return help ? 0 : 2;
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, [](int) { thalweg::slurm_agent::request_reload(); });
  // What libslurm prints by itself must not end up among the answers.
  const int out = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (out < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    std::perror("thalweg-slurm-agent");
    return 1;
  }
  const int status = thalweg::slurm_agent::serve(STDIN_FILENO, out);
  std::fflush(nullptr);
  std::_Exit(status);  // a worker may still be inside libslurm
}
