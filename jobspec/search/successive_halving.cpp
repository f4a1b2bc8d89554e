// Successive halving: the best 1/reduction_factor of a rung go on when all have come to it
// (Jamieson and Talwalkar 2016, arXiv:1502.07943). daemon/state/promotions decides who does.
#include "jobspec/search/search.h"
#include "jobspec/search/visit.h"

namespace thalweg::jobspec::search {

SearchMethod successive_halving() {
  SearchMethod method{
      "successive_halving", "random draws; at each rung all wait, then the best train on",
      "sha successivehalvingpruner halvingrandomsearchcv halvingsearch", independent_draws};
  method.promotes = Promotes::together;
  return method;
}

}  // namespace thalweg::jobspec::search
