// The names of what columns show, as answers carry them.
#include "base/data_table.h"

namespace thalweg {

std::string_view name_of(DataColumn::Shows shows) {
  switch (shows) {
    case DataColumn::Shows::number:
      return "number";
    case DataColumn::Shows::count:
      return "count";
    case DataColumn::Shows::duration:
      return "duration";
    case DataColumn::Shows::share:
      return "share";
    case DataColumn::Shows::text:
      break;
  }
  return "text";
}

}  // namespace thalweg
