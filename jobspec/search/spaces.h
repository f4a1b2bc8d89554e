// Search spaces as their authors published them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace thalweg::jobspec {

/// What one parameter of one optimizer is drawn from.
struct PublishedSpace {
  std::string_view set;        ///< what `study.spaces` names
  std::string_view value;      ///< of optimizer.name
  std::string_view parameter;  ///< a path of `train`
  std::string_view values;     ///< as under `parameters`
  std::string_view source;
};

/// The parameters of a value of a set stand together, the important ones first.
std::span<const PublishedSpace> published_spaces();
/// "algoperf"
std::vector<std::string> space_names();
/// The optimizers that a set has spaces for.
std::vector<std::string> optimizers_of(std::string_view set);

}  // namespace thalweg::jobspec
