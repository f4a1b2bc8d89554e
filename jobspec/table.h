// A table of named rows: what a word of the configuration (`optimizer.name`) chooses from.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace thalweg::jobspec {

struct Variant;

/// ", did you mean 'adamw'?", or nothing where no candidate is near. Ends a sentence.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates);

/// "there is no optimizer 'adamv', did you mean 'adamw'?"; with a key "optimizer.name: " first.
std::string unknown_name(std::string_view key, std::string_view what, std::string_view name,
                         const std::vector<std::string>& candidates);

/// Throws std::invalid_argument with that sentence.
[[noreturn]] void refuse_name(std::string_view key, std::string_view what, std::string_view name,
                              const std::vector<std::string>& candidates);

/// Rows with different names, in a fixed order; the first is the default where a table has one. A
/// Row has a `name`, for variants() also a `doc` and its `options`. Immutable, thread-safe.
template <class Row>
class Table {
 public:
  /// `what` is a row in messages: "optimizer".
  Table(std::string what, std::vector<Row> rows) : what_(std::move(what)), rows_(std::move(rows)) {}

  /// nullptr where there is none.
  const Row* find(std::string_view name) const {
    for (const Row& row : rows_)
      if (name == row.name) return &row;
    return nullptr;
  }
  /// Throws as refuse_name(); `key` is where the user wrote the name, and may be empty.
  const Row& at(std::string_view name, std::string_view key = {}) const {
    if (const Row* row = find(name)) return *row;
    refuse_name(key, what_, name, names());
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Row& row : rows_)
      names.emplace_back(row.name);
    return names;
  }
  /// For the Section that offers the rows; needs schema.h.
  std::vector<Variant> variants() const {
    std::vector<Variant> variants;
    for (const Row& row : rows_)
      if constexpr (requires { row.run_length; })
        variants.push_back({row.name, row.doc, row.options, row.run_length});
      else
        variants.push_back({row.name, row.doc, row.options, {}});
    return variants;
  }

  const Row& operator[](std::size_t number) const { return rows_[number]; }
  const Row& front() const { return rows_.front(); }
  std::size_t size() const { return rows_.size(); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }

 private:
  std::string what_;
  std::vector<Row> rows_;
};

}  // namespace thalweg::jobspec
