// GET /v1/resolve: the one place where a name becomes an id. A wrong guess costs a reader a second
// look and somebody who removes a sweep the sweep, so who acts is asked wherever a name could mean
// two things.
#include "daemon/server/names.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/api/messages.h"
#include "daemon/api/sweep_messages.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/params.h"
#include "jobspec/value.h"

namespace thalweg::daemon {

using jobspec::Id;

namespace {

/// A text as a name and the numbers behind it: "a.3.1" is "a.3.1", "a.3" and ".1", "a" and ".3.1".
struct Split {
  std::string name, numbers;
};

struct Candidate {
  Id id;
  std::string name;
};

/// The longest name first.
std::vector<Split> splits_of(const std::string& text) {
  std::vector<Split> splits{{text, ""}};
  for (std::size_t dot = text.rfind('.'); dot != std::string::npos && dot > 0;
       dot = text.rfind('.', dot - 1)) {
    if (!Id::parse("1" + text.substr(dot))) break;
    splits.push_back({text.substr(0, dot), text.substr(dot)});
  }
  return splits;
}

template <class Fits>
std::vector<Candidate> candidates(const Split& split, const std::vector<NamedSweep>& sweeps,
                                  Fits fits) {
  std::vector<Candidate> found;
  for (const NamedSweep& sweep : sweeps)
    if (fits(sweep.name))
      if (const auto id = Id::parse(std::to_string(sweep.id) + split.numbers))
        found.push_back({*id, sweep.name});
  return found;
}

bool one_name(const std::vector<Candidate>& found) {
  return std::all_of(found.begin(), found.end(),
                     [&](const Candidate& each) { return each.name == found.front().name; });
}

std::string listed(const std::vector<Candidate>& found) {
  constexpr std::size_t max_listed = 10;
  std::string list;
  for (std::size_t i = 0; i < std::min(found.size(), max_listed); ++i)
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", found[i].id.to_string(), found[i].name);
  if (found.size() > max_listed) list += fmt::format(" and {} more", found.size() - max_listed);
  return list;
}

ResolvedName question(const std::string& problem, const std::vector<Candidate>& found) {
  return {{}, problem, "say which by its id, newest first: " + listed(found)};
}

/// Sweeps that are called so; nothing where there is none.
std::optional<ResolvedName> whole_name(const std::string& text, const std::vector<Split>& splits,
                                       const std::vector<NamedSweep>& sweeps, NameUse use) {
  std::vector<Candidate> found;
  for (const Split& split : splits) {
    const auto more =
        candidates(split, sweeps, [&](const auto& name) { return name == split.name; });
    found.insert(found.end(), more.begin(), more.end());
    const bool exact = split.numbers.empty();
    if (!found.empty() && (use == NameUse::read || exact)) break;
  }
  if (found.empty()) return {};
  if (use == NameUse::read || found.size() == 1) return ResolvedName{found.front().id};
  return question(
      fmt::format("'{}' is the name of {} sweeps, or of their trials", text, found.size()), found);
}

ResolvedName beginning(const std::string& text, const std::vector<Split>& splits,
                       const std::vector<NamedSweep>& sweeps, NameUse use) {
  for (const Split& split : splits) {
    const auto found =
        candidates(split, sweeps, [&](const auto& name) { return name.starts_with(split.name); });
    if (found.empty()) continue;
    if (use == NameUse::act)
      return {{},
              fmt::format("'{}' is not the full name of a sweep, which is needed here", text),
              "did you mean " + listed(found) + "?"};
    if (one_name(found)) return {found.front().id};
    return question(fmt::format("the names of {} sweeps begin with '{}'", found.size(), split.name),
                    found);
  }
  std::vector<std::string> names;
  for (const NamedSweep& sweep : sweeps)
    names.push_back(sweep.name);
  const std::string near = jobspec::nearest(splits.back().name, names);
  return {{},
          fmt::format("'{}' is neither an id nor the name of a sweep", text),
          near.empty() ? "write 12 for a sweep, 12.3 for a trial, 12.3.1 for an attempt, or a "
                         "sweep's name in place of 12; `thalweg ls` lists the sweeps"
                       : "did you mean " + near + "?",
          true};
}

}  // namespace

ResolvedName resolve_name(const std::string& text, const std::vector<NamedSweep>& sweeps,
                          NameUse use) {
  if (const auto id = Id::parse(text)) return {*id};
  if (text.empty()) return {{}, "an empty text names no sweep", "`thalweg ls` lists them"};
  const auto splits = splits_of(text);
  if (auto found = whole_name(text, splits, sweeps, use)) return *found;
  return beginning(text, splits, sweeps, use);
}

boost::asio::awaitable<ResolvedName> resolve_name(App& app, const Request& request,
                                                  std::string text, NameUse use) {
  const auto work = [](db::ReadStore& store) { return store.sweeps(); };
  const auto rows = co_await app.reader.run(request.user, work);
  const Sight sight(app, request);
  std::vector<NamedSweep> own, seen;
  for (const auto& row : rows) {
    const auto it = app.controller.state().sweeps.find(row.id);
    if (it == app.controller.state().sweeps.end() || it->second.removing) continue;
    if (!sight.of(it->second)) continue;
    seen.push_back({row.id, row.name});
    if (sight.changes(it->second)) own.push_back({row.id, row.name});
  }
  // Whoever acts means his own sweep, whatever those are called that he only looks at.
  ResolvedName found = resolve_name(text, use == NameUse::act ? own : seen, use);
  if (found.unknown && use == NameUse::act) found = resolve_name(text, seen, use);
  co_return found;
}

boost::asio::awaitable<Response> get_resolve(App& app, const Request& request) {
  const NameUse use = query_int(request, "acts", 1, 0, 1) == 1 ? NameUse::act : NameUse::read;
  const ResolvedName found = co_await resolve_name(app, request, query_text(request, "name"), use);
  const api::ResolveAnswer answer{found.id ? found.id->to_string() : "", found.problem, found.hint};
  co_return json_response(api::to_json(answer));
}

}  // namespace thalweg::daemon
