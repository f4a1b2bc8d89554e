// Defaults: a `train` tree, or the options of one row, with everything said.
#pragma once

#include <string>
#include <vector>

#include "jobspec/check.h"
#include "jobspec/fwd.h"

namespace thalweg::jobspec {

/// The tree checked as check_train() does and with every default filled in, in the order of the
/// schema; an option whose default is null stays out, and one that is null has its default. Throws
/// InputError with every mistake; `file` is for its messages.
Value complete_train(const Value& train, const Schema& schema, const std::string& file);

/// What a map of one row's options says, in the order of the table, with the defaults of those that
/// it leaves out (also null ones). What does not fit is added to `errors`: unknown keys, wrong
/// values, options that are missing; their paths are the keys.
Map complete_options(const Map& given, const std::vector<Option>& options,
                     std::vector<ValidationError>& errors);

}  // namespace thalweg::jobspec
