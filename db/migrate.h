// Brings a database file to this program's schema: numbered SQL files, each in a transaction of its
// own.
#pragma once

#include <span>
#include <string_view>

#include "db/sqlite/connection.h"

namespace thalweg::db {

/// One file of db/migrations, in order: number 1 turns an empty file into schema 1, and so on.
struct Migration {
  int number;
  const char* name;  ///< the file's name, for messages
  const char* text;
};

/// The files of db/migrations, put into the library when it is built.
std::span<const Migration> migrations();

/// Runs what is missing. Throws Error, changing nothing, where the file belongs to another program
/// or its schema is newer than the last of `all`; where a migration fails, those before it stay.
void migrate(sqlite::Connection& connection, std::span<const Migration> all);

/// For who cannot change the file. Throws Error where it is not of this program or its schema is
/// not the last of `all`.
void check_schema(sqlite::Connection& connection, std::span<const Migration> all);

}  // namespace thalweg::db
