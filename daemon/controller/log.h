// controller.log, for the person who looks after the controller: one line per decision, none per
// poll.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace thalweg::daemon::log {

/// Appends to the file (5 MiB, three old ones kept), and to standard error too where wanted. Before
/// it, lines are dropped.
void open(const std::filesystem::path& file, bool also_stderr);

void info(std::string_view text);
void warning(std::string_view text);
void error(std::string_view text);

/// A warning that anybody can cause as often as he likes: `who` causes one line a minute, and the
/// next one says how many were left out. Of 1000 in a minute each; all further ones share a line.
/// Safe from several threads.
void refused(const std::string& who, std::string_view text);

}  // namespace thalweg::daemon::log
