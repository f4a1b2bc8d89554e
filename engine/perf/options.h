// The command line of thalweg-perf.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "engine/comm/reduction/types.h"

namespace thalweg::engine::perf {

struct Options {
  std::vector<std::string> collectives;   ///< names from subjects()
  bool everything = false;                ///< "all": those that such ranks cannot do are left out
  std::vector<std::string> algorithms;    ///< as Group::use takes them, or "all"
  comm::Type type = comm::Type::f32;      ///< of what is reduced
  comm::Op op = comm::Op::sum;            ///< of what is reduced
  comm::Type wire = comm::Type::bf16;     ///< of allreduce_as: f16 or bf16
  std::size_t from = 4, to = 64U << 20U;  ///< bytes
  std::size_t factor = 4;                 ///< from one size to the next
  int shards = 0;                         ///< of shard_sum; 0: one a rank
  int root = 0;                           ///< of broadcast
  bool group_memory = true;               ///< from Group::allocate; false: malloc
  bool touch = false;                     ///< rewrite the buffers before each call
  bool check = true;                      ///< results, once per row
  double seconds = 0.3;                   ///< to measure a row
  int iterations = 0;                     ///< calls a row instead; 0: by time
  int warmup = -1;                        ///< calls before; -1: by time
  std::chrono::milliseconds stall_timeout{60000};  ///< without progress: an error
  bool plot = false;                               ///< with letters, below the table
  std::filesystem::path json, svg;                 ///< files to write; empty: none
  std::string print;  ///< not empty: print this (help, version, completion) and exit 0

  std::vector<std::size_t> sizes() const;
};

/// They set `options`, which must outlive them.
std::vector<CommandOption> option_rows(Options& options);

/// `arguments` without the program's name. Throws UsageError.
Options parse(const std::vector<std::string>& arguments);

}  // namespace thalweg::engine::perf
