// The answer of GET /v1/studies/{name} as JSON: rows as objects by their columns' keys, facts
// beside them by theirs.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/api/fields.h"
#include "db/studies/data_table.h"

namespace thalweg::daemon::api {

inline nlohmann::json datum_json(const db::Datum& value, db::DataColumn::Shows shows) {
  using Shows = db::DataColumn::Shows;
  if (const auto* number = std::get_if<double>(&value)) {
    if ((shows == Shows::count || shows == Shows::integer) && std::isfinite(*number))
      return std::llround(*number);
    return fields::number(*number);
  }
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return nullptr;
}

/// What is none of these is nothing.
inline db::Datum datum_from(const nlohmann::json& object, const db::DataColumn& head) {
  const auto found = object.find(head.key);
  if (found == object.end()) return {};
  if (found->is_boolean()) return found->get<bool>();
  if (found->is_string() && head.shows == db::DataColumn::Shows::text)
    return found->get<std::string>();
  try {
    return fields::number_from(*found);
  } catch (const std::invalid_argument&) {
    return {};
  }
}

template <>
struct JsonOf<db::DataTable> {
  static nlohmann::json write(const db::DataTable& table) {
    nlohmann::json rows = nlohmann::json::array();
    for (const auto& row : table.rows) {
      nlohmann::json object = nlohmann::json::object();
      for (std::size_t i = 0; i < row.size(); ++i)
        object[table.columns[i].key] = datum_json(row[i], table.columns[i].shows);
      rows.push_back(std::move(object));
    }
    nlohmann::json answer{{"columns", to_json(table.columns)},
                          {"rows", std::move(rows)},
                          {"facts", nlohmann::json::array()},
                          {"summary", table.summary},
                          {"notes", table.notes},
                          {"telling", table.telling}};
    for (const auto& [head, value] : table.facts) {
      answer["facts"].push_back(to_json(head));
      answer[head.key] = datum_json(value, head.shows);
    }
    if (!table.charts.empty()) answer["charts"] = to_json(table.charts);
    return answer;
  }

  /// What another version answers is taken as far as it goes.
  static void read(const nlohmann::json& from, db::DataTable& table) {
    using Heads = std::vector<db::DataColumn>;
    const auto read_into = [&](const char* key, auto& value) {
      fields::read_field(from, key, value, Field::may_miss, Reading::tolerant);
    };
    Heads facts;
    std::vector<nlohmann::json> rows;
    read_into("columns", table.columns);
    read_into("rows", rows);
    read_into("facts", facts);
    read_into("summary", table.summary);
    read_into("notes", table.notes);
    read_into("telling", table.telling);
    read_into("charts", table.charts);
    for (const nlohmann::json& object : rows) {
      auto& row = table.rows.emplace_back();
      for (const db::DataColumn& column : table.columns)
        row.push_back(datum_from(object, column));
    }
    for (db::DataColumn& head : facts) {
      db::Datum value = datum_from(from, head);
      table.facts.push_back({std::move(head), std::move(value)});
    }
  }
};

}  // namespace thalweg::daemon::api
