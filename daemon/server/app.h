// Everything that the endpoints work on.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "daemon/api/client.h"
#include "daemon/auth/munge_proofs.h"
#include "daemon/controller/config.h"
#include "daemon/controller/controller.h"
#include "daemon/server/imports.h"
#include "daemon/server/reader.h"
#include "daemon/server/snapshots.h"
#include "daemon/server/turns.h"
#include "jobspec/fwd.h"

namespace thalweg::daemon {

struct App {
  static constexpr double upkeep_patience_s = 10;

  App(boost::asio::any_io_executor executor, Controller& with, api::Home where, Config settings)
      : controller(with),
        home(std::move(where)),
        config(std::move(settings)),
        reader(executor, home.database()),
        queries(executor, home.database(), Worker::Priority::background),
        upkeep(executor, home.database(), Worker::Priority::background),
        upkeep_disk(upkeep_patience_s),
        checks(executor, Worker::Priority::background),
        parsing(executor, Worker::Priority::background),
        choosing(executor, Worker::Priority::background),
        proofs(executor),
        snapshots(executor),
        decode_credential(
            [proofs = std::make_shared<auth::MungeProofs>(
                 config.site.munge_socket, std::time(nullptr))](const std::string& credential) {
              return proofs->check(credential, std::time(nullptr));
            }) {}

  Controller& controller;
  api::Home home;
  Config config;
  double started = 0;    ///< Unix seconds
  SharedReader reader;   ///< for what the API shows
  SharedReader queries;  ///< for people's own SQL, which may take long
  SharedReader upkeep;   ///< for what takes long and nobody waits for: sizes of folders, backups
  Disk upkeep_disk;      ///< used on that thread only
  Worker checks;         ///< for the engine's check of sweeps
  SharedWorker parsing;  ///< of sweep files, and of the engine's schema
  Worker choosing;       ///< of configurations by results, which may take seconds
  Worker proofs;         ///< for munged, which may hang
  Snapshots snapshots;   ///< for those who watch
  std::function<auth::Credential(const std::string& credential)> decode_credential;
  std::shared_ptr<const jobspec::Schema> schema;  ///< once thalweg-train has said it
  std::set<uid_t> querying;                       ///< users whose own SQL is under way
  Uploads uploads;                                ///< of imports
  std::function<void()> stop;                     ///< ends the controller soon
};

/// What `thalweg-train --schema` says, asked once. Throws HttpError 503 where it cannot be asked.
boost::asio::awaitable<std::shared_ptr<const jobspec::Schema>> engine_schema(App& app);
/// The same for this sweep file; one for programs of the user's own needs no engine.
boost::asio::awaitable<std::shared_ptr<const jobspec::Schema>> schema_for(App& app,
                                                                          const std::string& text,
                                                                          uid_t user);

}  // namespace thalweg::daemon
