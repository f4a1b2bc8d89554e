// Endpoints that keep house: what folders take, checkpoints that are not needed, sweeps that are
// put away or removed, copies of the record. What looks into folders does so on a thread of its
// own.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/machine.h"
#include "daemon/controller/init_from.h"
#include "daemon/controller/tree.h"
#include "daemon/server/endpoints.h"
#include "daemon/server/home_folder.h"
#include "daemon/server/params.h"
#include "daemon/state/events.h"

namespace thalweg::daemon {

namespace fs = std::filesystem;

using boost::asio::awaitable;
using jobspec::Id;
using nlohmann::json;

namespace {

Id sweep_id(const json& body) {
  const Id id = parse_id(text_of(body, "id"));
  if (id.trial != 0) throw HttpError(400, id.to_string() + " is not the id of a sweep");
  return id;
}

/// Throws HttpError 404 or 409.
void require_ended(const App& app, const Request& request, const Id& id) {
  const SweepState& sweep = known_sweep(app, request, id.sweep);
  const TrialState* const trial = app.controller.state().trial(id);
  if (id.trial != 0 && trial == nullptr)
    throw HttpError(404, "there is no trial " + id.to_string());
  const bool ended = id.trial == 0 ? sweep.phase != SweepPhase::active : is_over(trial->phase);
  if (!ended)
    throw HttpError(409, fmt::format("{} has not ended: `thalweg cancel {}` ends it",
                                     id.to_string(), id.to_string()));
}

/// Runs `work` on the disk's thread; where that takes too long, the answer is 503.
template <class F>
auto on_disk(Disk& disk, F work) {
  try {
    return disk.run(std::move(work));
  } catch (const DiskHangs& error) {
    throw HttpError(503, error.what());
  }
}

struct Keep {
  KeepCheckpoints what = KeepCheckpoints::last;
  std::int64_t count = 1;
};

Keep read_keep(const std::string& text) {
  if (text == "last") return {};
  if (text == "best") return {KeepCheckpoints::best, 0};
  if (text == "none") return {KeepCheckpoints::none, 0};
  Keep keep;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, keep.count);
  if (error != std::errc{} || end != last || keep.count < 1)
    throw HttpError(
        400, fmt::format("keep: '{}' is not last, best, none or a number of checkpoints", text));
  return keep;
}

/// Attempts' folders of the sweep's trials, or of one, newest first.
std::map<std::int64_t, std::vector<fs::path>> folders_of(db::ReadStore& store, const Id& id) {
  std::map<std::int64_t, std::vector<fs::path>> trials;
  for (const auto& row : store.attempts(id.sweep))
    if (!row.folder.empty() && (id.trial == 0 || row.id.trial == id.trial))
      trials[row.id.trial].insert(trials[row.id.trial].begin(), row.folder);
  return trials;
}

json size_of(db::ReadStore& store, Disk& disk, const Id& sweep) {
  TreeSize size;
  for (const auto& row : store.attempts(sweep.sweep))
    if (!row.folder.empty())
      size += on_disk(disk, [folder = fs::path(row.folder)] { return tree_size(folder); });
  return {{"id", std::to_string(sweep.sweep)},
          {"bytes", size.bytes},
          {"files", size.files},
          {"checkpoint_bytes", size.checkpoints}};
}

}  // namespace

awaitable<Response> get_size(App& app, const Request& request) {
  const Id id = path_id(request, IdKind::sweep);
  known_sweep(app, request, id.sweep);
  const auto work = [id, &disk = app.upkeep_disk](db::ReadStore& store) {
    return json_response(size_of(store, disk, id));
  };
  co_return co_await app.upkeep.run(request.user, work);
}

awaitable<Response> post_sizes(App& app, const Request& request) {
  const json body = body_object(request);
  const json ids = body.value("ids", json::array());
  if (!ids.is_array()) throw HttpError(400, "ids: expected a list of sweeps");
  json sizes = json::array();
  for (const json& text : ids) {
    if (!text.is_string()) throw HttpError(400, "ids: expected texts as \"12\"");
    const Id id = parse_id(text.get<std::string>());
    known_sweep(app, request, id.sweep);
    // One by one, so that backups and the like get a turn.
    const auto work = [id, &disk = app.upkeep_disk](db::ReadStore& store) {
      return size_of(store, disk, id);
    };
    sizes.push_back(co_await app.upkeep.run(request.user, work));
  }
  co_return json_response({{"sizes", sizes}});
}

awaitable<Response> post_archive(App& app, const Request& request) {
  const json body = body_object(request);
  const Id id = sweep_id(body);
  const bool on = body.value("on", true);
  known_sweep(app, request, id.sweep);
  if (on) require_ended(app, request, id);
  if (!app.controller.archive(id.sweep, on, user_name(request.user)))
    throw HttpError(404, "there is no sweep " + id.to_string());
  co_return json_response({{"id", id.to_string()}, {"archived", on}});
}

namespace {

/// Throws HttpError 409 where a trial that has not ended begins with weights that would be gone,
/// unless the body says force.
awaitable<void> require_unneeded(App& app, const Request& request, const json& body, const Id& id,
                                 KeepCheckpoints keep) {
  if (body.value("force", false)) co_return;
  const auto look = [id, keep](db::ReadStore& store) -> std::string {
    const auto needs = weights_needed(store);
    if (needs.empty()) return "";
    for (const auto& [trial, folders] : folders_of(store, id))
      if (const WeightsNeed* need = need_of(needs, {id.sweep, trial, 0}, folders, keep))
        return fmt::format(
            "trial {} has not ended and begins with weights of {}.{} (init_from): wait for it, "
            "`thalweg cancel {}` ends it, --force removes them anyway",
            need->by.to_string(), id.sweep, trial, need->by.to_string());
    return "";
  };
  if (const std::string why = co_await app.reader.run(request.user, look); !why.empty())
    throw HttpError(409, why);
}

}  // namespace

namespace {

awaitable<Response> thin_curves(App& app, const json& body, const Id& id, const Request& request) {
  const auto least = jobspec::Keep::min_points;
  if (!body["points"].is_number_integer() || body["points"].get<std::int64_t>() < least)
    throw HttpError(400, fmt::format("points: expected a number of at least {}", least));
  const auto points = body["points"].get<std::int64_t>();
  const std::string by = user_name(request.user),
                    what = fmt::format("of each curve about {} points", points);
  app.controller.note_pruning(id, what, by);
  const std::int64_t removed = co_await app.controller.thin(id, points);
  app.controller.note_pruned(id, {what, by, false, 0, {}, removed});
  co_return json_response({{"id", id.to_string()}, {"removed_points", removed}});
}

}  // namespace

awaitable<Response> post_prune(App& app, const Request& request) {
  const json body = body_object(request);
  const Id id = parse_id(text_of(body, "id"));
  if (id.attempt != 0) throw HttpError(400, "give the id of a sweep (12) or a trial (12.3)");
  require_ended(app, request, id);
  if (body.contains("points")) co_return co_await thin_curves(app, body, id, request);
  const std::string text = text_of(body, "keep");
  const Keep keep = read_keep(text);
  co_await require_unneeded(app, request, body, id, keep.what);
  require_ended(app, request, id);
  const std::string by = user_name(request.user);
  app.controller.note_pruning(id, text, by);
  const auto work = [id, keep, &disk = app.upkeep_disk](db::ReadStore& store) {
    Pruning all;
    for (const auto& [trial, folders] : folders_of(store, id)) {
      const Pruning one = on_disk(disk, [folders = folders, keep] {
        return prune_checkpoints(folders, keep.what, keep.count);
      });
      all.freed_bytes += one.freed_bytes;
      if (all.problem.empty()) all.problem = one.problem;
    }
    return all;
  };
  const Pruning done = co_await app.upkeep.run(request.user, work);
  app.controller.note_pruned(id, {text, by, false, done.freed_bytes, {}});
  if (!done.problem.empty())
    throw HttpError(409, fmt::format("{} ({} bytes were freed)", done.problem, done.freed_bytes));
  co_return json_response({{"id", id.to_string()}, {"freed_bytes", done.freed_bytes}});
}

awaitable<Response> post_remove(App& app, const Request& request) {
  const json body = body_object(request);
  const Id id = sweep_id(body);
  require_ended(app, request, id);
  co_await require_unneeded(app, request, body, id, KeepCheckpoints::none);
  require_ended(app, request, id);
  app.controller.remove(id.sweep, user_name(request.user));
  co_return json_response({{"id", id.to_string()}, {"removing", true}});
}

awaitable<Response> post_relocate(App& app, const Request& request) {
  const json body = body_object(request);
  const fs::path from = text_of(body, "from"), to = text_of(body, "to");
  for (const fs::path& path : {from, to})
    if (!path.is_absolute() || !path.has_filename() || path != path.lexically_normal())
      throw HttpError(400, path.string() + ": expected the full path of a folder");
  const auto look = [to, &disk = app.upkeep_disk](db::ReadStore&) {
    return on_disk(disk, [to] {
      std::error_code error;
      return fs::is_directory(to, error);
    });
  };
  if (!co_await app.upkeep.run(request.user, look))
    throw HttpError(400, to.string() + " is not there: move the run folders first");
  try {
    co_return json_response({{"attempts", app.controller.relocate(from.string(), to.string(),
                                                                  user_name(request.user))}});
  } catch (const std::invalid_argument& error) {
    throw HttpError(409, error.what());
  }
}

awaitable<Response> get_homes(App& app, const Request& request) {
  const fs::path runs = runs_folder(app.config, app.home);
  const auto look = [runs, own = app.home.directory, &disk = app.upkeep_disk](db::ReadStore&) {
    return on_disk(disk, [runs, own] { return other_homes(runs, own); });
  };
  json homes = json::array();
  for (const OtherHome& home : co_await app.upkeep.run(request.user, look))
    homes.push_back({{"host", home.host}, {"home", home.home}, {"started", home.started}});
  co_return json_response({{"host", host_name()}, {"homes", homes}});
}

awaitable<Response> post_backup(App& app, const Request& request) {
  const fs::path file = text_of(body_object(request), "file");
  if (!file.is_absolute()) throw HttpError(400, "file: expected an absolute path");
  const auto work = [file](db::ReadStore& store) {
    // Whole or not at all under its name.
    const fs::path aside = file.string() + ".new";
    std::error_code error;
    if (fs::exists(file, error))
      throw HttpError(400, file.string() + " exists already: name another file, or move it away");
    fs::remove(aside, error);
    try {
      store.backup(aside);
      fs::permissions(aside, fs::perms::owner_read | fs::perms::owner_write);
      fs::rename(aside, file);
    } catch (const std::exception& failed) {
      fs::remove(aside, error);
      throw HttpError(400, fmt::format("cannot back up to {}: {}", file.string(), failed.what()));
    }
    return static_cast<std::int64_t>(fs::file_size(file));
  };
  const std::int64_t bytes = co_await app.upkeep.run_alone(request.user, work);
  co_return json_response({{"file", file.string()}, {"bytes", bytes}});
}

}  // namespace thalweg::daemon
