// Shell completion, written from what the commands declare.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "cli/command.h"

namespace thalweg::cli {

struct DeclaredCommand {
  const Command* command;
  Arguments arguments;
  Action keep_alive;  ///< owns what the arguments point to
};

struct ShellScript {
  const char* shell;
  std::string (*write)(const std::vector<DeclaredCommand>& commands);
};

std::string bash_script(const std::vector<DeclaredCommand>& commands);
std::string zsh_script(const std::vector<DeclaredCommand>& commands);
std::string fish_script(const std::vector<DeclaredCommand>& commands);

inline constexpr std::array shell_scripts{ShellScript{"bash", bash_script},
                                          ShellScript{"zsh", zsh_script},
                                          ShellScript{"fish", fish_script}};

}  // namespace thalweg::cli
