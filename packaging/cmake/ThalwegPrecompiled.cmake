# Headers that most files of a target read (precompiled/*.h) are compiled once for all targets with the same options: a
# quarter of a small file's time. Files still include what they use; the sanitizers' presets are built without.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(Boost 1.74 REQUIRED)
option(THALWEG_PCH "Precompile the headers that most files share" ON)

# thalweg_precompile(TARGET HEADER LEVEL LIBS...): HEADER of precompiled/, for targets compiled with that -O LEVEL. LIBS: what
# the header needs, of which the target gets the definitions, since these have to be the same, and does not link them.
function(thalweg_precompile target header level)
  if(NOT THALWEG_PCH)
    return()
  endif()
  set(holder thalweg_precompiled_${header}${level})
  if(NOT TARGET ${holder})
    set(empty "${CMAKE_BINARY_DIR}/precompiled.cpp")
    file(CONFIGURE OUTPUT "${empty}" CONTENT "// Has headers precompiled.\n")
    add_library(${holder} OBJECT "${empty}")
    target_link_libraries(${holder} PRIVATE thalweg_settings ${ARGN})
    thalweg_options(${holder} PRIVATE $<$<CONFIG:Release>:${level}>)
    target_precompile_headers(${holder} PRIVATE "${PROJECT_SOURCE_DIR}/packaging/cmake/precompiled/${header}.h")
  endif()
  foreach(library IN LISTS ARGN)
    target_compile_definitions(${target} PRIVATE $<TARGET_PROPERTY:${library},INTERFACE_COMPILE_DEFINITIONS>)
  endforeach()
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()
