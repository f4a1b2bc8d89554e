// Which names a query gives to common table expressions. SQLite tells the authorizer by name alone
// who reads a table, so one that is called as a view would pass for the view.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace thalweg::db::sqlite {

using Names = std::set<std::string, std::less<>>;

/// The first name of `names` (lower case) that the text uses as the name of a common table
/// expression, `name [(columns)] AS [[NOT] MATERIALIZED] (`; empty where there is none.
std::string shadowed(std::string_view sql, const Names& names);

}  // namespace thalweg::db::sqlite
