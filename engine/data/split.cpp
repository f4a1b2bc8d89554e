#include "engine/data/split.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>
#include <stdexcept>
#include <string>

#include "engine/data/array.h"
#include "engine/data/header.h"
#include "engine/data/order.h"
#include "engine/data/paths.h"
#include "engine/data/table.h"

namespace thalweg::engine {
namespace {

enum Part : std::uint8_t { training, validation, test };
constexpr std::uint32_t kGroupRound = 1;  // of the random numbers: groups are drawn, not samples

using Parts = std::vector<Part>;

/// The first ones of `order` are the validation, as ever; then comes the test.
Parts by_order(const std::vector<std::uint32_t>& order, const SplitRule& rule) {
  Parts parts(order.size(), training);
  for (std::size_t i = 0; i < rule.validation + rule.test; ++i)
    parts[order[i]] = i < rule.validation ? validation : test;
  return parts;
}

Parts by_groups(std::size_t count, const SplitRule& rule) {
  if (rule.groups.size() != count)
    throw std::invalid_argument("data.groups: " + std::to_string(rule.groups.size()) +
                                " groups for " + std::to_string(count) + " samples");
  std::map<std::int64_t, std::vector<std::uint32_t>> members;
  for (std::size_t i = 0; i < count; ++i)
    members[rule.groups[i]].push_back(static_cast<std::uint32_t>(i));
  std::vector<const std::vector<std::uint32_t>*> groups;
  for (const auto& [group, samples] : members)
    groups.push_back(&samples);
  Parts parts(count, training);
  std::array<std::size_t, 3> wanted{count, rule.validation, rule.test}, given{};
  for (const std::uint32_t g : permutation(kSplitSeed, Stream::split, kGroupRound, groups.size())) {
    const Part part = given[test] < wanted[test]               ? test
                      : given[validation] < wanted[validation] ? validation
                                                               : training;
    given[part] += groups[g]->size();
    for (const std::uint32_t sample : *groups[g])
      parts[sample] = part;
  }
  if (given[training] == 0 || given[validation] < wanted[validation])
    throw std::invalid_argument(
        "data.split: " + std::to_string(groups.size()) + " groups are too few to hold out " +
        std::to_string(rule.validation + rule.test) + " of " + std::to_string(count) + " samples");
  return parts;
}

Parts by_place(std::size_t count, const SplitRule& rule) {
  Parts parts(count, training);
  const auto end = parts.end(), test_begin = end - static_cast<std::ptrdiff_t>(rule.test);
  std::fill(test_begin, end, test);
  std::fill(test_begin - static_cast<std::ptrdiff_t>(rule.validation), test_begin, validation);
  return parts;
}

void require_countable(std::size_t once, int times) {
  if (once > std::numeric_limits<std::uint32_t>::max() / static_cast<std::size_t>(times))
    throw std::invalid_argument(
        "data.duplicate: more than 2^32 samples an epoch are not supported");
}

void repeat(std::vector<std::uint32_t>& samples, int times) {
  const std::size_t once = samples.size();
  require_countable(once, times);
  samples.resize(once * static_cast<std::size_t>(times));
  for (std::size_t i = once; i < samples.size(); ++i)
    samples[i] = samples[i - once];
}

/// A data set's own part and a number asked for beside it.
void require_no_own(std::size_t own, const char* option, const char* what) {
  if (own > 0)
    throw std::invalid_argument(std::string("data.") + option + ": there is a " + what + " of " +
                                std::to_string(own) +
                                " samples of its own; leave one of the two out");
}

jobspec::Option groups_option() {
  return jobspec::required(jobspec::path_option(
      "groups", {}, "array of whole numbers, one for each sample: FILE.npz:NAME"));
}

Array read_groups(const data::Options& options, Extent extent) {
  const auto local = [&](const std::filesystem::path& file) {
    return data::local_file(options, file);
  };
  Array array = read_array(options.text("groups"), local, extent);
  if (array.shape.size() != 1 || !is_integer(array.type))
    throw DataError(array.name, DataError::kNoOffset,
                    "groups must be whole numbers in one dimension, one for each sample");
  return array;
}

std::vector<std::int64_t> numbers_of(const Array& groups) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(groups.count()));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = groups.integer(static_cast<std::int64_t>(i));
  return numbers;
}

data::Options options_of_split(const jobspec::Value& data) {
  std::vector<jobspec::Option> known = data::common_options();
  known.push_back(groups_option());
  return {data::with_whole_paths(data, known), known, "data."};
}

/// But for the groups.
SplitRule rule_of(const Dataset& dataset, const jobspec::Value& data,
                  const data::Options& options) {
  constexpr std::size_t kAutoShare = 12;  // 5,000 of Fashion-MNIST's 60,000
  SplitRule rule;
  rule.own_validation = dataset.own_validation();
  rule.own_test = dataset.own_test();
  rule.fraction = options.real("fraction");
  rule.duplicate = static_cast<int>(options.integer("duplicate"));
  rule.test = static_cast<std::size_t>(options.integer("test_samples"));
  if (rule.test > 0) require_no_own(rule.own_test, "test_samples", "test set");
  const std::size_t body = dataset.size() - rule.own_validation - rule.own_test;
  if (!options.is_auto("validation")) {
    require_no_own(rule.own_validation, "validation", "validation set");
    rule.validation = static_cast<std::size_t>(options.integer("validation"));
  } else if (rule.own_validation == 0) {
    rule.validation = std::max<std::size_t>(1, body / kAutoShare);
  }
  const jobspec::Value* const split_by = data.find("split");
  const std::string by = split_by ? split_by->as_string() : "random";
  if (by == "last") rule.by = SplitRule::By::last;
  if (by == "groups") rule.by = SplitRule::By::groups;
  return rule;
}

/// Samples that are in no set of their own.
std::size_t body_of(std::size_t count, const SplitRule& rule) {
  const std::size_t own = rule.own_validation + rule.own_test;
  const std::size_t body = count - std::min(count, own);
  if (rule.validation + rule.own_validation < 1 || rule.validation + rule.test >= body)
    throw std::invalid_argument("data.validation: cannot hold out " +
                                std::to_string(rule.validation + rule.test) + " of " +
                                std::to_string(body) + " samples");
  return body;
}

/// A part's samples that are kept of `all`.
std::size_t kept(std::size_t all, const SplitRule& rule) {
  return std::max<std::size_t>(1,
                               static_cast<std::size_t>(static_cast<double>(all) * rule.fraction));
}

}  // namespace

Split split(std::size_t count, const SplitRule& rule) {
  const std::size_t body = body_of(count, rule);
  const std::vector<std::uint32_t> order = permutation(kSplitSeed, Stream::split, 0, body);
  const Parts parts = rule.by == SplitRule::By::groups ? by_groups(body, rule)
                      : rule.by == SplitRule::By::last ? by_place(body, rule)
                                                       : by_order(order, rule);
  std::array<std::vector<std::uint32_t>, 3> lists;
  for (const std::uint32_t sample : order)
    lists[parts[sample]].push_back(sample);
  for (std::size_t i = body; i < count; ++i)
    lists[i < body + rule.own_validation ? validation : test].push_back(
        static_cast<std::uint32_t>(i));
  for (const Part part : {training, validation})
    lists[part].resize(kept(lists[part].size(), rule));
  for (auto& list : lists)
    std::sort(list.begin(), list.end());
  repeat(lists[training], rule.duplicate);
  return {std::move(lists[training]), std::move(lists[validation]), std::move(lists[test])};
}

Split split_samples(const Dataset& dataset, const jobspec::Value& data) {
  const data::Options options = options_of_split(data);
  SplitRule rule = rule_of(dataset, data, options);
  if (rule.by == SplitRule::By::groups) rule.groups = numbers_of(read_groups(options, Extent::all));
  return split(dataset.size(), rule);
}

std::optional<SplitSizes> split_sizes(const Dataset& dataset, const jobspec::Value& data) {
  const data::Options options = options_of_split(data);
  const SplitRule rule = rule_of(dataset, data, options);
  if (rule.by == SplitRule::By::groups) {
    const Array groups = read_groups(options, Extent::header);
    if (static_cast<std::size_t>(groups.count()) * bytes_of(groups.type) > data::kReadableBytes)
      return {};
    const Split lists = split_samples(dataset, data);
    return SplitSizes{lists.training.size(), lists.validation.size(), lists.test.size()};
  }
  const std::size_t body = body_of(dataset.size(), rule);
  const std::size_t once = kept(body - rule.validation - rule.test, rule);
  require_countable(once, rule.duplicate);
  return SplitSizes{once * static_cast<std::size_t>(rule.duplicate),
                    kept(rule.validation + rule.own_validation, rule), rule.test + rule.own_test};
}

jobspec::Section split_section() {
  jobspec::Section section;
  section.path = "data";
  section.doc = "Which samples are held out for validation and test";
  section.selector = "split";
  section.default_value = "random";
  section.variants = {{"random", "samples drawn one by one, the same ones for every seed", {}},
                      {"groups",
                       "whole groups (patients, speakers, scenes), so that none is on both sides",
                       {groups_option()}},
                      {"last", "the last samples of the file, for what is ordered in time", {}}};
  return section;
}

}  // namespace thalweg::engine
