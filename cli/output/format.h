// Numbers, rates, durations and times as people read them. What scripts read is never formatted
// here.
#pragma once

#include <optional>
#include <string>

namespace thalweg::cli {

/// Shown where a number is not known.
inline constexpr const char* unknown_mark = "–";

/// Four significant digits: "0.1123", "12.35", "1.235e-05", "128", "nan", "inf".
std::string format_number(std::optional<double> value);
/// The same; the unknown mark where it is not finite.
std::string format_finite(std::optional<double> value);
/// "median [low, high]", without the brackets where the interval is a point or unknown.
std::string format_interval(std::optional<double> median, std::optional<double> low,
                            std::optional<double> high);
/// The values of a group as the record has them, "adam, lr=0.33195324893514455": real numbers with
/// four significant digits, all else as it is.
std::string format_values(const std::string& values);
/// "850/s", "10.2k/s", "1.3M/s".
std::string format_rate(std::optional<double> per_second);
/// "12,345"; also negative.
std::string format_count(long long n);
/// "0.4 s", "7 s", "45 s", "3:12", "1:05:00", "2 d 03 h"; negative counts as 0.
std::string format_duration(std::optional<double> seconds);
/// "12 s ago", "3 min ago", "2 h ago", "5 days ago"; "never" for 0.
std::string format_age(double then, double now);
/// "2026-11-20 11:49:05", local time; the unknown mark for 0.
std::string format_time(double unix_seconds);
/// "62 %" of 0..1, never 100 % before it is done.
std::string format_percent(double fraction);
/// The same of any share, also above 1: "250 %"; "–" where it is not known.
std::string format_share(std::optional<double> share);

/// "187 MB", in powers of 1000; empty where it is not known.
std::string format_bytes(std::optional<double> bytes);

}  // namespace thalweg::cli
