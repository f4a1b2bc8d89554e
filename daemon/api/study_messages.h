// The answer of GET /v1/studies/{name} as JSON: rows as objects by their columns' keys, facts
// beside them by theirs.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/api/fields.h"
#include "db/studies/data_table.h"

namespace thalweg::daemon::api {

/// Of an interval its number alone.
inline nlohmann::json datum_json(const db::Datum& value, db::DataColumn::Shows shows) {
  using Shows = db::DataColumn::Shows;
  if (const auto* number = std::get_if<double>(&value)) {
    if ((shows == Shows::count || shows == Shows::integer) && std::isfinite(*number))
      return std::llround(*number);
    return fields::number(*number);
  }
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* interval = std::get_if<db::DataInterval>(&value))
    return fields::number(interval->value);
  return nullptr;
}

inline void put_datum(nlohmann::json& object, const db::DataColumn& head, const db::Datum& value) {
  object[head.key] = datum_json(value, head.shows);
  const auto* interval = std::get_if<db::DataInterval>(&value);
  if (!interval) return;
  object[head.key + "_low"] = fields::number(interval->low);
  object[head.key + "_high"] = fields::number(interval->high);
}

/// What is none of these is nothing.
inline db::Datum datum_from(const nlohmann::json& object, const db::DataColumn& head) {
  const auto found = object.find(head.key);
  if (found == object.end()) return {};
  if (found->is_boolean()) return found->get<bool>();
  if (found->is_string() && head.shows == db::DataColumn::Shows::text)
    return found->get<std::string>();
  try {
    if (head.shows != db::DataColumn::Shows::interval) return fields::number_from(*found);
    return db::DataInterval{
        fields::number_from(*found),
        fields::number_from(object.value(head.key + "_low", nlohmann::json())),
        fields::number_from(object.value(head.key + "_high", nlohmann::json()))};
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
        put_datum(object, table.columns[i], row[i]);
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
      put_datum(answer, head, value);
    }
    if (!table.title.empty()) answer["title"] = table.title;
    if (!table.charts.empty()) answer["charts"] = to_json(table.charts);
    for (const db::DataTable& further : table.further) {
      answer["further"].push_back(write(further));
      answer["further"].back()["key"] = further.key;
    }
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
    read_into("further", table.further);
    read_into("key", table.key);
    read_into("title", table.title);
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
