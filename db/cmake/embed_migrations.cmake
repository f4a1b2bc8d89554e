# cmake -DFOLDER=... -DOUTPUT=... -P embed_migrations.cmake
# Writes a .cpp with the text of every FOLDER/NNNN_name.sql, checking that the numbers run 1, 2, 3 ...
file(GLOB files "${FOLDER}/*.sql")
list(SORT files)
set(texts "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  math(EXPR number "${number} + 1")
  get_filename_component(name "${file}" NAME)
  if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_[a-z0-9_]+\\.sql$")
    message(FATAL_ERROR "${file}: migrations are called NNNN_name.sql")
  endif()
  math(EXPR found "1${CMAKE_MATCH_1} - 10000")
  if(NOT found EQUAL number)
    message(FATAL_ERROR "${file}: migration number ${found}, expected ${number}")
  endif()
  file(READ "${file}" text)
  string(APPEND texts "const char* const kText${number} = R\"sql(${text})sql\";\n")
  string(APPEND rows "    {${number}, \"${name}\", kText${number}},\n")
endforeach()
file(WRITE "${OUTPUT}.new" "// Generated from db/migrations by embed_migrations.cmake.
#include \"db/migrate.h\"

namespace thalweg::db {
namespace {

${texts}
const Migration kMigrations[] = {
${rows}};

}  // namespace

std::span<const Migration> migrations() { return kMigrations; }

}  // namespace thalweg::db
")
execute_process(COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${OUTPUT}.new" "${OUTPUT}")
