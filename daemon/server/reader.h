// Reading the database off the controller's thread: a thread and a connection of its own (WAL:
// readers and the writer do not wait for each other).
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <filesystem>
#include <memory>

#include "daemon/controller/worker.h"
#include "db/store.h"

namespace thalweg::daemon {

class Reader {
 public:
  /// Results come back on `executor`, which must run on one thread.
  Reader(boost::asio::any_io_executor executor, std::filesystem::path database,
         Worker::Priority priority = Worker::Priority::normal)
      : database_(std::move(database)), worker_(std::move(executor), priority) {}

  /// Runs `work(store)` there, as Worker::run does, on the record as it is at one moment.
  template <class F>
  boost::asio::awaitable<std::invoke_result_t<F&, db::ReadStore&>> run(F work) {
    return run_alone([work = std::move(work)](db::ReadStore& store) mutable {
      const db::ReadStore::Snapshot snapshot(store);
      return work(store);
    });
  }
  /// The same for work that no transaction may be around.
  template <class F>
  boost::asio::awaitable<std::invoke_result_t<F&, db::ReadStore&>> run_alone(F work) {
    return worker_.run([this, work = std::move(work)]() mutable {
      if (!store_) store_ = db::ReadStore::open(database_);
      return work(*store_);
    });
  }

 private:
  std::filesystem::path database_;
  std::unique_ptr<db::ReadStore> store_;  ///< used by the one thread only
  Worker worker_;                         ///< ends before the store does
};

}  // namespace thalweg::daemon
