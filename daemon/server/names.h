// What a person means who writes a sweep's name where an id is expected.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "jobspec/id.h"

namespace thalweg::daemon {

struct App;
struct Request;

struct NamedSweep {
  std::int64_t id = 0;
  std::string name;
};

/// An id, or what is wrong and what to do about it.
struct ResolvedName {
  std::optional<jobspec::Id> id;
  std::string problem{}, hint{};
  bool unknown = false;  ///< no sweep has the name or a name that begins so
};

/// Whether something is only read, or changed, ended, removed or started. Where only something is
/// read the newest of several sweeps of the name is taken, and the beginning of one name will do.
enum class NameUse { read, act };

/// `text`: an id; a sweep's whole name; either with ".3" or ".3.1" behind it. What reads as an id
/// is one, whatever sweeps are called; a whole name goes before a name with numbers behind it.
/// `sweeps` are all that may be meant, newest first.
ResolvedName resolve_name(const std::string& text, const std::vector<NamedSweep>& sweeps,
                          NameUse use);

/// The same of the sweeps that the asker may see; to act, his own come first.
boost::asio::awaitable<ResolvedName> resolve_name(App& app, const Request& request,
                                                  std::string text, NameUse use);

}  // namespace thalweg::daemon
