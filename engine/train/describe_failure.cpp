#include "engine/train/describe_failure.h"

#include "engine/comm/group.h"
#include "engine/data/dataset.h"

namespace thalweg::engine {

Failure describe_failure(const std::exception_ptr& error, int rank, const std::string& node) {
  try {
    std::rethrow_exception(error);
  } catch (const comm::CommError& e) {
    return {ExitCode::failed, e.what(), e.rank(), e.node()};
  } catch (const DataError& e) {
    return {ExitCode::bad_input, e.what(), rank, node};
  } catch (...) {
    return failure_of(error, rank, node);
  }
}

}  // namespace thalweg::engine
