#include "cli/context.h"

#include "daemon/api/client.h"

namespace thalweg::cli {

Context::Context(std::ostream& o, std::ostream& e)
    : out(o),
      err(e),
      terminal(Terminal::of(1)),
      error_terminal(Terminal::of(2)),
      palette(terminal.colour) {}
Context::~Context() = default;

int Context::width() const {
  return terminal.is_terminal ? terminal.size().columns : 0;
}

const daemon::api::Home& Context::home() {
  if (!home_) home_ = std::make_unique<daemon::api::Home>(daemon::api::Home::find());
  return *home_;
}

daemon::api::Client& Context::controller_if_any() {
  if (!client_) client_ = std::make_unique<daemon::api::Client>(home());
  return *client_;
}

daemon::api::Client& Context::controller() {
  daemon::api::Client& client = controller_if_any();
  if (!running_) client.ensure_running();
  running_ = true;
  return client;
}

}  // namespace thalweg::cli
