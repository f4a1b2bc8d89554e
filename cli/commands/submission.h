// Handing a sweep file to the controller: `submit` and `run`.
#pragma once

#include "cli/commands/common.h"
#include "jobspec/fwd.h"

namespace thalweg::cli {

struct SubmitOptions {
  std::string file;
  std::string backend = "auto";
};
/// Returns the argument that names the file, to be used before others are added.
Argument& add_submit_options(Arguments& arguments, SubmitOptions& options);

/// Whether a sweep goes to Slurm: where `backend` is "auto", one whose file has a slurm block.
bool is_for_slurm(const std::string& backend, const jobspec::Sweep& sweep);

/// The whole file; "-" is standard input. Throws CommandError (bad input).
std::string read_file(const std::string& file);

enum class Purpose {
  submit,
  dry_run,
  forecast,  ///< a dry run of what the engine has checked already
};
/// What `POST /v1/sweeps` takes; `text` is the file's.
Json sweep_request(const SubmitOptions& options, const std::string& text, Purpose purpose);
/// Hands `text` to the controller; to one that serves a site with the user's word for it. Throws
/// ApiError with the diagnostics of a bad file.
Json post_sweep(Context& context, const SubmitOptions& options, const std::string& text,
                Purpose purpose);
/// The same with what the file says.
Json submit_sweep(Context& context, const SubmitOptions& options, Purpose purpose);

/// ", 2 duplicates left out"; nothing where there are none.
std::string duplicates_text(long long duplicates);

/// "sweep 12 name: 8 trials (4 configurations) on local", and the notes.
void print_submitted(Context& context, const Json& answer);

/// What `submit` says of the controller's answer.
void print_submission(Context& context, const Json& answer, bool dry_run, const Format& format);

/// When Slurm would start trials, as far as it says.
void print_forecasts(Context& context, const Json& answer);

}  // namespace thalweg::cli
