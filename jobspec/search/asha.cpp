// Asynchronous successive halving: a trial goes on as soon as it is among the best
// 1/reduction_factor of those that have come to its rung (Li et al. 2020, arXiv:1810.05934).
// daemon/state/promotions decides who does.
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec::search {

SearchMethod asha() {
  SearchMethod method{
      "asha", "random draws; the best at each rung train on, without waiting for the others",
      "ashascheduler asynchyperband asynchyperbandscheduler asynchronoushyperband "
      "asynchronoussuccessivehalving",
      independent_draws};
  method.promotes = Promotes::at_once;
  return method;
}

}  // namespace thalweg::jobspec::search
