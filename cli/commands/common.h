// What several commands share: ids, formats, and the blocks of text they print.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/output/json.h"
#include "cli/output/table.h"
#include "daemon/api/fields.h"
#include "jobspec/id.h"

namespace thalweg::cli {

struct Format {
  bool json = false;
  bool csv = false;
};
void add_json(Arguments& arguments, Format& format);
void add_json_and_csv(Arguments& arguments, Format& format);

/// An id as the controller writes it. Throws CommandError (bad input) where it is none.
jobspec::Id parse_id(const std::string& text);
/// What a person typed: an id, or a sweep's name in place of its number ("tiny-gpt", "tiny-gpt.3"),
/// as the controller resolves it for this command. Throws CommandError (bad input) where it is
/// neither, or could mean several and the command acts.
jobspec::Id find_id(Context& context, const std::string& text);
bool is_sweep(const jobspec::Id& id);
bool is_trial(const jobspec::Id& id);
/// "/v1/sweeps/12", "/v1/trials/12.3" or "/v1/attempts/12.3.1".
std::string path_of(const jobspec::Id& id);
/// The path and "?metric=loss&top=3", or "&…" where it has a query; values are escaped, pairs
/// without one left out.
std::string with_query(std::string path,
                       const std::vector<std::pair<std::string, std::string>>& pairs);
/// As find_id, or the newest sweep where `text` is empty. Throws CommandError (not found) where
/// there is none.
jobspec::Id id_or_newest(Context& context, const std::string& text);
/// The same of a command that takes sweeps alone. Throws CommandError where it is none.
jobspec::Id sweep_or_newest(Context& context, const std::string& text, const std::string& command);

/// Where a person may have meant another record (a home is on one machine's own disk): a line for
/// each that has the same run folders. None where nobody can tell; throws nothing.
std::vector<std::string> other_records(Context& context);

void print_table(Context& context, const Table& table, const Format& format);

/// Aligned "name  value" lines; pairs without a value are left out.
void print_pairs(Context& context, const std::vector<std::pair<std::string, Cell>>& pairs);

/// "Next:" and commands with what they are for.
void print_next(Context& context, const std::vector<std::pair<std::string, std::string>>& commands);

/// To `file`, said on the output; "-": the output itself. Throws CommandError where it cannot.
void write_out(Context& context, const std::string& file, const std::string& text);

/// Of {name, goal}: "val/error (smaller is better)".
std::string metric_in_words(const Json& metric);

void print_notes(Context& context, const std::vector<std::string>& notes);

Cell state_cell(const std::string& state);
/// Shown as format_number does; the whole value in CSV.
Cell number_cell(std::optional<double> value);
/// "12 s" from `started` up to `ended` or now (Unix seconds, 0 = not yet).
std::string time_taken(double started, double ended);

/// An answer as the struct that the controller filled, as far as it goes: what another version says
/// otherwise keeps its default.
template <class Answer>
Answer read_answer(const Json& answer) {
  return daemon::api::from_json<Answer>(answer, daemon::api::Reading::tolerant);
}

}  // namespace thalweg::cli
