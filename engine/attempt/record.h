// What rank 0 tells the world about an attempt: journal and push. On other ranks every call does
// nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/attempt/failure.h"
#include "engine/attempt/journal.h"
#include "engine/attempt/push.h"
#include "jobspec/fwd.h"

namespace thalweg::engine {

class Record {
 public:
  /// `writes`: this is rank 0. Throws where the journal cannot be opened or trial.push is no
  /// address.
  /// `given_up` is called from another thread where the controller says in answer to a push that it
  /// has given the attempt up. `now` as Journal has it.
  Record(const jobspec::Trial& trial, const std::filesystem::path& folder, bool writes,
         std::function<void()> given_up = {}, Journal::Now now = {});

  /// Every line from now on says that its times are of a machine that is none.
  void emulated(const std::string& name);
  void start(jobspec::Map fields);
  void metrics(const std::vector<MetricPoint>& points);
  /// From any thread. Before the start record they wait for it.
  void note(const char* level, const std::string& text);
  /// Numbers of the user's that are not in the record: `count` of them up to now, for the reason
  /// `lost` (journal.md); `text` tells the first.
  void lost(const std::string& lost, std::int64_t count, const std::string& text);
  struct Saved {
    std::int64_t step;
    std::filesystem::path file;  ///< relative to the attempt's folder
    std::uintmax_t bytes;
    double seconds;        ///< that training waited for it
    double write_seconds;  ///< until it was on the disk
    bool best = false;
  };
  void checkpoint(const Saved& saved);
  /// Where each rank's time went, up to `step`: RankTimes::All.
  void ranks(std::int64_t step, jobspec::Map fields);
  /// `status` as in journal.md. Also puts the journal on the disk.
  void end(const char* status, std::int64_t step, const std::string& reason);
  void end(std::int64_t step, const Failure& failure);
  /// An end record at once, from any thread, and no line after it. `step` is the last checkpoint's.
  void last(const char* status, const std::string& reason) noexcept;
  /// The lines up to now are on the disk.
  void sync();

 private:
  std::atomic<std::int64_t> checkpoint_{0};  ///< step
  std::unique_ptr<Push> push_;
  std::unique_ptr<Journal> journal_;
  void put_note(jobspec::Map fields);

  std::mutex mutex_;  ///< guards what follows
  bool started_ = false;
  std::vector<jobspec::Map> early_;  ///< notes
};

}  // namespace thalweg::engine
