# Headers that most files of a target read (precompiled/*.h) are compiled once for all targets with the same options: a
# quarter of a small file's time. Files still include what they use; the sanitizers' presets are built without.
option(THALWEG_PCH "Precompile the headers that most files share" ON)

# thalweg_precompile(TARGET HEADER LEVEL LIBS...): HEADER of precompiled/, for targets compiled with that -O LEVEL. LIBS: what
# the header needs; all targets that share it link them, since their definitions have to be the same.
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
  target_precompile_headers(${target} REUSE_FROM ${holder})
endfunction()
