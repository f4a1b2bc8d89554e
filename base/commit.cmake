# Writes HEADER with the commit of SOURCES, where that has changed.
set(commit "")
find_program(GIT git)
if(GIT AND EXISTS "${SOURCES}/.git")
  execute_process(COMMAND "${GIT}" -C "${SOURCES}" describe --always --dirty --exclude=* --abbrev=12
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "// Written by every build.
inline constexpr const char* kCommit = \"${commit}\";
")
