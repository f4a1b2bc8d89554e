// What the engine's exceptions mean.
#pragma once

#include "engine/attempt/failure.h"

namespace thalweg::engine {

/// As failure_of(), and of a rank that a collective lost (comm::CommError): that one. Data that
/// cannot be read (DataError) are bad input.
Failure describe_failure(const std::exception_ptr& error, int rank, const std::string& node);

}  // namespace thalweg::engine
