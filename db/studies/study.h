// Studies: questions about recorded sweeps whose answer is a table. A study is one file of this
// folder and one row of table.cpp: its command, help, manual page, completion, endpoint and section
// of the report follow from the row.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "db/studies/data_table.h"
#include "jobspec/enum_names.h"
#include "jobspec/id.h"

namespace thalweg::db {

class ReadStore;

struct StudyOption {
  enum class Kind {
    flag,
    number,
    numbers,  ///< separated by commas
    names,    ///< of parameters, separated by commas
    text,
    metric,  ///< the name of one
    pairs    ///< of sweeps, as 14:12,15:13; people write 14=12
  };
  std::string_view name;  ///< "in_order": --in-order on the command line
  Kind kind = Kind::flag;
  std::string_view value = {};    ///< what stands for the value in the help; empty of flags
  std::string_view help;          ///< empty: of scripts, no option of the command
  std::string_view choices = {};  ///< the only values, separated by commas
};

/// What is asked: sweeps or trials, at least one, and options.
class StudyRequest {
 public:
  using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;
  std::vector<std::int64_t> sweeps;
  std::vector<jobspec::Id> trials;  ///< where the study is of trials or the record
  bool for_scripts = false;         ///< also what people are spared
  /// Of an hour of a node of these sweeps, as far as it is known.
  std::map<std::int64_t, double> prices{};
  double now = 0;  ///< Unix seconds, for what goes on
  /// What is known of the partition that is named, or that the trial ran in.
  struct Partition {
    std::optional<double> price{};  ///< of an hour of a node
    std::string currency{};
    std::optional<std::vector<std::int64_t>> sweeps{};  ///< that ran there; none: no partition
  } partition{};

  /// Throws std::invalid_argument where the value is none of the option's kind.
  void set(const StudyOption& option, const std::string& value);
  bool flag(std::string_view option) const { return values_.contains(option); }
  std::optional<double> number(std::string_view option) const;
  std::vector<double> numbers(std::string_view option) const;
  std::vector<std::string> names(std::string_view option) const;
  std::string text(std::string_view option) const;
  Pairs pairs(std::string_view option) const;

 private:
  template <class T>
  const T* given(std::string_view option) const {
    const auto found = values_.find(option);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
  }
  using Given =
      std::variant<bool, double, std::vector<double>, std::vector<std::string>, std::string, Pairs>;
  std::map<std::string, Given, std::less<>> values_;
};

struct Study {
  const char* name;      ///< of the command and the endpoint
  const char* summary;   ///< one line, in the list of commands
  const char* details;   ///< its own help
  const char* example;   ///< one or several lines
  const char* synonyms;  ///< separated by spaces: named where somebody types one of them
  std::span<const StudyOption> options;
  /// The section's title in a sweep's report; empty: it has none.
  const char* report;
  /// Throws std::invalid_argument with what is wrong with the request, std::out_of_range with what
  /// is not there. Thread-safe on stores of their own.
  DataTable (*run)(ReadStore& store, const StudyRequest& request);
  /// Of workloads: sweeps that it compares; a report gives it its --by, its --best-over and further
  /// sweeps.
  /// Of the record: nothing need be named, and a sweep stands for its best trial.
  enum class Of { sweeps, workloads, trials, record } of = Of::sweeps;
  bool draws = false;  ///< its first chart can be had as a file (--svg)
};

/// In the order of the help.
std::span<const Study* const> studies();
/// nullptr where there is none of this name.
const Study* find_study(std::string_view name);

/// For `predict`, also of a file, which needs no controller.
struct SizesAndTimes {
  std::string x_name, y_name;
  std::vector<double> x{}, y{};  ///< as many of both
  std::int64_t skipped = 0;      ///< lines without two numbers
};
/// A row for each model that the samples are enough for; further, a row for each size of `at`.
DataTable fitted_table(const SizesAndTimes& data, const std::vector<double>& at, bool for_scripts);

}  // namespace thalweg::db

namespace thalweg::jobspec {

template <>
struct EnumNames<db::Study::Of> {
  static constexpr std::string_view what = "what a study is of";
  static constexpr std::array<std::string_view, 4> names = {"sweeps", "workloads", "trials",
                                                            "record"};
};

}  // namespace thalweg::jobspec
