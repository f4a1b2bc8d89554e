// Every combination: how they are gone through is visit.cpp's.
#include "jobspec/search/search.h"

namespace thalweg::jobspec::search {

SearchMethod grid() {
  return {"grid", "every combination, the last parameter fastest",
          "gridsearch cartesian exhaustive full all"};
}

}  // namespace thalweg::jobspec::search
