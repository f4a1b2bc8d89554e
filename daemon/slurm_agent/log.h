// The agent's log: one line a fact on standard error. Never a credential, a grant as a whole, a
// script or an environment.
#pragma once

#include <string>

namespace thalweg::slurm_agent {

/// `text` on one line, whatever it holds, of a bounded length. Thread-safe.
std::string printable(const std::string& text);
void log_line(const std::string& text);

}  // namespace thalweg::slurm_agent
