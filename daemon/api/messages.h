// JSON conversions that both ends of the API share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobspec/diagnostic.h"
#include "jobspec/fwd.h"

namespace thalweg::daemon::api {

/// The one way from JSON to text in the daemon: never throws. Texts come from journals, file names
/// and schedulers, and may hold any bytes; what is not UTF-8 becomes U+FFFD.
std::string json_text(const nlohmann::json& value, int indent = -1);

/// NaN and infinities, which JSON lacks, are the strings "nan", "inf", "-inf".
nlohmann::json number_json(double value);
/// The other way round; throws std::invalid_argument where it is neither a number nor one of the
/// three.
double number_from(const nlohmann::json& value);

/// Unix seconds from a number or from text like "2024-05-01T12:00:00.250Z"; the fallback where it
/// is neither.
double time_from(const nlohmann::json& value, double fallback);

nlohmann::json value_json(const jobspec::Value& value);

/// {"error":{"message":…,"diagnostics":[…]}}; diagnostics are left out where there are none.
nlohmann::json error_json(const std::string& message,
                          const std::vector<jobspec::Diagnostic>& diagnostics = {});
/// The diagnostics of an error answer; empty where it has none.
std::vector<jobspec::Diagnostic> diagnostics_from(const nlohmann::json& body);
/// The message of an error answer, or the body as text where it is no such answer.
std::string message_from(const nlohmann::json& body);

/// A path or query component with everything but unreserved characters as %XX.
std::string url_encode(std::string_view text);
/// Throws std::invalid_argument on a broken %XX. '+' is a space only in queries.
std::string url_decode(std::string_view text, bool query = false);

}  // namespace thalweg::daemon::api
