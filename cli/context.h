// What every command is given: where to print, and the controller.
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include "cli/output/terminal.h"

namespace thalweg::daemon::api {
class Client;
struct Home;
}  // namespace thalweg::daemon::api

namespace thalweg::cli {

class Context {
 public:
  Context(std::ostream& out, std::ostream& err);
  ~Context();

  std::ostream& out;
  std::ostream& err;
  Terminal terminal;        ///< of standard output
  Terminal error_terminal;  ///< of standard error
  Palette palette;          ///< for `out`

  /// The command changes or starts something: a sweep's name must be the whole one (find_id).
  bool acts = true;

  /// The window's width for tables; 0 (no limit) where no person looks.
  int width() const;
  const daemon::api::Home& home();
  /// A controller that answers; starts one if needed.
  daemon::api::Client& controller();
  /// A controller that may or may not be there.
  daemon::api::Client& controller_if_any();

 private:
  std::unique_ptr<daemon::api::Home> home_;
  std::unique_ptr<daemon::api::Client> client_;
  bool running_ = false;
};

}  // namespace thalweg::cli
