// What those who watch a sweep are sent: made once for all of them, and seldom where it takes long.
#pragma once

#include <utility>  // boost 1.74's awaitable.hpp needs it first

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace thalweg::daemon {

/// Of one thread.
class Snapshots {
 public:
  /// A snapshot is made again when ten times as long has passed as it took, but at the latest after
  /// so long: whoever watches a sweep of 100,000 trials takes a tenth of the readers' time.
  static constexpr double times_cost = 10, max_pause_s = 10;
  using Clock = std::function<double()>;  ///< seconds that only grow

  struct Snapshot {
    std::uint64_t version = 0;  ///< of the sweep
    bool last = false;          ///< it had ended
    double cost_s = 0;          ///< that it took to make
    std::shared_ptr<const std::string> text;
  };
  using Make = std::function<boost::asio::awaitable<Snapshot>()>;

  /// Empty `clock`: the machine's.
  explicit Snapshots(boost::asio::any_io_executor executor, Clock clock = {});

  struct Shared;
  /// To be held while somebody watches the sweep: all who do hold the same.
  std::shared_ptr<Shared> watch(std::int64_t sweep);
  /// The latest one; of an earlier version than `version` where it is too soon for another, and
  /// that one has not `ended` the sweep. What make() throws passes on.
  boost::asio::awaitable<Snapshot> latest(std::shared_ptr<Shared> watched, std::uint64_t version,
                                          bool ended, Make make);
  std::int64_t made() const { return made_; }

 private:
  boost::asio::any_io_executor executor_;
  Clock clock_;
  std::int64_t made_ = 0;
  std::map<std::int64_t, std::weak_ptr<Shared>> watched_;
};

}  // namespace thalweg::daemon
