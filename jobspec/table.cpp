// The words of a table's messages, the same for all of them.
#include "jobspec/table.h"

#include <stdexcept>

#include "jobspec/value.h"

namespace thalweg::jobspec {

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string near = nearest(name, candidates);
  return near.empty() ? "" : ", did you mean '" + near + "'?";
}

std::string unknown_name(std::string_view key, std::string_view what, std::string_view name,
                         const std::vector<std::string>& candidates) {
  std::string text = key.empty() ? "" : std::string(key) + ": ";
  text.append("there is no ").append(what).append(" '").append(name).append("'");
  return text + suggestion(name, candidates);
}

void refuse_name(std::string_view key, std::string_view what, std::string_view name,
                 const std::vector<std::string>& candidates) {
  throw std::invalid_argument(unknown_name(key, what, name, candidates));
}

}  // namespace thalweg::jobspec
