# Compiler settings and the functions every room uses.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(THALWEG_CCACHE ccache)
if(THALWEG_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # So that it takes files with precompiled headers, and reads a file's headers once (ccache(1), "Precompiled headers", "The
  # depend mode").
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1
      "${THALWEG_CCACHE}")
endif()

include(ThalwegCuda)
include(ThalwegPrecompiled)

# thalweg_options(TARGET PUBLIC|PRIVATE|INTERFACE options...): of the C++ compiler, also where nvcc calls it
function(thalweg_options target scope)
  foreach(option IN LISTS ARGN)
    target_compile_options(${target} ${scope} $<$<COMPILE_LANGUAGE:CXX>:${option}>
                           $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${option}>)
  endforeach()
endfunction()

add_library(thalweg_settings INTERFACE)
target_include_directories(thalweg_settings INTERFACE "${PROJECT_SOURCE_DIR}")
thalweg_options(thalweg_settings INTERFACE -Wall -Wextra)
# Of files compiled together one may shadow another's names, and every unnamed namespace looks like a header's.
set(together $<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>)
thalweg_options(thalweg_settings INTERFACE $<IF:${together},-Wshadow=local,-Wshadow>)
target_compile_options(thalweg_settings INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,${together}>:-Wno-subobject-linkage>)
target_compile_options(thalweg_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wpedantic>)  # nvcc's own text breaks it
# The bits of a result must not depend on where the compiler fuses a multiplication with an addition.
thalweg_options(thalweg_settings INTERFACE -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns of overlap inside std::string's own operator+ (gcc.gnu.org/PR105651).
  thalweg_options(thalweg_settings INTERFACE -Wno-restrict)
  # At -O2 it takes a coroutine's own operator delete for one that does not match.
  thalweg_options(thalweg_settings INTERFACE $<$<CONFIG:Release>:-Wno-mismatched-new-delete>)
endif()
if(THALWEG_WERROR)
  thalweg_options(thalweg_settings INTERFACE -Werror)
endif()
# Of nvcc too where it is the release that this was written with; a later one may warn of more.
if(THALWEG_WERROR OR (THALWEG_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_LESS 13.1))
  target_compile_options(thalweg_settings INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:-Werror all-warnings>")
endif()
if(THALWEG_SANITIZE STREQUAL "address")
  thalweg_options(thalweg_settings INTERFACE -fsanitize=address -fsanitize=undefined
                  -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1)
  target_link_options(thalweg_settings INTERFACE -fsanitize=address,undefined)
elseif(THALWEG_SANITIZE STREQUAL "thread")
  thalweg_options(thalweg_settings INTERFACE -fsanitize=thread -Wno-tsan -fno-omit-frame-pointer -g1)
  target_link_options(thalweg_settings INTERFACE -fsanitize=thread)
elseif(THALWEG_SANITIZE)
  message(FATAL_ERROR "THALWEG_SANITIZE is '${THALWEG_SANITIZE}': expected 'address' or 'thread'")
endif()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

option(THALWEG_UNITY "Compile most libraries and tests eight files at a time, which is faster from nothing" ON)

# thalweg_unity(TARGET): the headers that files share are read, and their templates compiled, once for eight files.
function(thalweg_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${THALWEG_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# thalweg_library(NAME SOURCES... [PUBLIC libs...] [PRIVATE libs...])
function(thalweg_library name)
  cmake_parse_arguments(A "" "" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  thalweg_unity(${name})
  target_link_libraries(${name} PUBLIC thalweg_settings ${A_PUBLIC} PRIVATE ${A_PRIVATE})
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  # What waits for people, for disks or for kernels gains nothing from loops over numbers: a sixth faster to compile, what
  # answers requests a third, what leads a training two fifths.
  if(folder MATCHES "^(cli|daemon/server|engine/(launch|schedule|train)$)")
    set(level -O1)
  elseif(folder MATCHES "^(base|daemon|db|jobspec)")
    set(level -O2)
  elseif(folder MATCHES "^tests/(end_to_end|support$)")
    set(level -O0)
  else()
    return()  # At -O3, with precompiled headers, GCC 12 warns of what cannot be inside of std::string.
  endif()
  thalweg_options(${name} PRIVATE $<$<CONFIG:Release>:${level}>)
  if(folder MATCHES "^cli")
    thalweg_precompile(${name} json ${level} fmt::fmt nlohmann_json::nlohmann_json)
  elseif(folder MATCHES "^daemon")
    thalweg_precompile(${name} services ${level} fmt::fmt nlohmann_json::nlohmann_json Boost::headers)
  elseif(NOT folder MATCHES "^tests")
    thalweg_precompile(${name} standard ${level})
  endif()
endfunction()

# thalweg_unity_of_cuda(RESULT TARGET files...): eight files at a time, which CMake does for CUDA from 3.29 on. nvcc reads
# the headers four times for each file, more than half of the time.
function(thalweg_unity_of_cuda result target)
  set(batches "")
  set(rest ${ARGN})
  while(rest)
    list(SUBLIST rest 0 8 files)
    list(REMOVE_ITEM rest ${files})
    set(text "")
    foreach(file IN LISTS files)
      get_filename_component(path "${file}" ABSOLUTE)
      string(APPEND text "#include \"${path}\"\n")
    endforeach()
    list(LENGTH batches batch)
    set(output "${CMAKE_CURRENT_BINARY_DIR}/${target}_cuda_${batch}.cpp")
    file(CONFIGURE OUTPUT "${output}" CONTENT "${text}" @ONLY)
    list(APPEND batches "${output}")
  endwhile()
  set_source_files_properties(${batches} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${result} ${batches} PARENT_SCOPE)
endfunction()

# thalweg_gpu_sources(TARGET files...): .cpp files with loops of our own on GPUs. Compiled by nvcc where there is one, else
# by the C++ compiler.
function(thalweg_gpu_sources target)
  set(files ${ARGN})
  list(LENGTH files count)
  if(THALWEG_HAS_CUDA AND THALWEG_UNITY AND count GREATER 1)
    thalweg_unity_of_cuda(files ${target} ${ARGN})
  endif()
  target_sources(${target} PRIVATE ${files})
  if(NOT target STREQUAL "thalweg_gpu")
    target_link_libraries(${target} PUBLIC thalweg_gpu)
  endif()
  if(THALWEG_HAS_CUDA)
    set_source_files_properties(${files} PROPERTIES LANGUAGE CUDA)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
  endif()
endfunction()

# thalweg_package_of(RESULT NAME): the package that a program, its manual pages and its completions go into.
function(thalweg_package_of result name)
  if(name STREQUAL "thalwegd" OR name STREQUAL "thalweg-config")
    set(package controller)
  elseif(name STREQUAL "thalweg-slurm-agent")
    set(package slurm)
  elseif(name MATCHES "^thalweg-(attempt|launch)$")
    set(package attempt)
  elseif(name MATCHES "^thalweg-(train|perf|simulate|sweep-train)$")
    set(package engine)
  else()
    set(package thalweg)
  endif()
  set(${result} ${package} PARENT_SCOPE)
endfunction()

# thalweg_program(NAME SOURCES... LIBS...): installed under bin
function(thalweg_program name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_link_libraries(${name} PRIVATE thalweg_settings ${A_LIBS})
  thalweg_package_of(package ${name})
  install(TARGETS ${name} RUNTIME DESTINATION bin COMPONENT ${package})
endfunction()

# thalweg_quickly_compiled(TARGET): of test code, which is compiled more often than it runs.
function(thalweg_quickly_compiled target)
  thalweg_options(${target} PRIVATE $<IF:$<CONFIG:Release>,-O0,-O1>)
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests/daemon")
    thalweg_precompile(${target} tests_services -O0 GTest::gmock fmt::fmt nlohmann_json::nlohmann_json Boost::headers)
  elseif(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests/(cli|end_to_end)")
    thalweg_precompile(${target} tests_json -O0 GTest::gmock nlohmann_json::nlohmann_json)
  else()
    thalweg_precompile(${target} tests -O0 GTest::gmock)
  endif()
endfunction()

# thalweg_test(NAME SOURCES... LIBS... [LABELS unit|comm|daemon|training|slurm|end_to_end] [TIMEOUT SECONDS]
#              [LOCK NAME] [CLUSTER] [COST N] [SUITE NAME] [SECOND FILTER... WHY TEXT [DRAW N]])
# One ctest entry per GoogleTest case; run one with: ctest -R Suite.Case
# SUITE: one entry of that name for all cases, which share what takes long to start, such as a cluster.
# LOCK: no two cases with the same name run at once, such as those that count the processes of one user.
# CLUSTER: as many at once as the machine has room for virtual clusters (tests/run.sh).
# COST: those of more start first, so that no long row of cases that wait for each other is left at the end.
# SECOND: cases (as --gtest_filter takes them; "*" is all) of the second tier, which `sh tests/run.sh all` runs; WHY says
# in one line what keeps them out of the first. DRAW: the first tier runs N of them, drawn by a seed (tests/draw.sh).
function(thalweg_test name)
  cmake_parse_arguments(A "CLUSTER" "TIMEOUT;LOCK;COST;SUITE;WHY;DRAW" "SOURCES;LIBS;LABELS;SECOND" ${ARGN})
  if(NOT A_LABELS)
    set(A_LABELS unit)
  endif()
  if(NOT A_TIMEOUT)
    set(A_TIMEOUT 120)
  endif()
  if(A_SECOND AND NOT A_WHY)
    message(FATAL_ERROR "${name} has cases of the second tier: WHY says what keeps them out of the first")
  endif()
  add_executable(${name} ${A_SOURCES})
  thalweg_unity(${name})
  target_link_libraries(${name} PRIVATE thalweg_settings ${A_LIBS} GTest::gmock GTest::gtest_main)
  # Test code is built more often than it runs, but what calculates references for kernels, which runs twice as long at -O0,
  # and the simulation: of the templates that it and the product share, the linker takes the program's own.
  if(CMAKE_CURRENT_SOURCE_DIR MATCHES "^${PROJECT_SOURCE_DIR}/tests/(engine/(comm|gpu|nn)|simulation)$")
    thalweg_options(${name} PRIVATE -O1)
    thalweg_precompile(${name} tests -O1 GTest::gmock)
  else()
    thalweg_quickly_compiled(${name})
  endif()
  target_compile_definitions(${name} PRIVATE THALWEG_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                             THALWEG_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  set(properties TIMEOUT ${A_TIMEOUT})
  if(A_LOCK)
    list(APPEND properties RESOURCE_LOCK ${A_LOCK})
  endif()
  if(A_CLUSTER)
    list(APPEND properties RESOURCE_GROUPS clusters:1)
  endif()
  if(A_COST)
    list(APPEND properties COST ${A_COST})
  endif()
  # gtest_discover_tests cannot pass a list on; ctest -L takes a pattern, so "unit_comm" answers to both.
  string(REPLACE ";" "_" label "${A_LABELS}")
  string(REPLACE ";" ":" second "${A_SECOND}")
  if(NOT second STREQUAL "*")
    set(filter "*")
    if(second)
      set(filter "-${second}")
    endif()
    thalweg_test_entries(${name} "${A_SUITE}" "${filter}" LABELS ${label} ${properties})
  endif()
  if(second AND A_DRAW)
    add_test(NAME Drawn.${name} COMMAND sh "${PROJECT_SOURCE_DIR}/tests/draw.sh" ${A_DRAW} "$<TARGET_FILE:${name}>" "${second}")
    set_tests_properties(Drawn.${name} PROPERTIES LABELS ${label}_drawn ${properties}
                         SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]")
  endif()
  if(second)
    thalweg_test_entries(${name} "${A_SUITE}" "${second}" LABELS ${label}_second ${properties})
  endif()
endfunction()

# thalweg_test_entries(PROGRAM SUITE FILTER PROPERTIES...): of cases that the filter leaves, one entry each; or SUITE, where
# it is not empty.
function(thalweg_test_entries program suite filter)
  if(NOT suite)
    string(MD5 list "${filter}")
    gtest_discover_tests(${program} DISCOVERY_TIMEOUT 600 TEST_FILTER "${filter}" TEST_LIST ${program}_${list} PROPERTIES ${ARGN})
    return()
  endif()
  if(TEST ${suite})
    string(APPEND suite .More)
  endif()
  add_test(NAME ${suite} COMMAND ${program} "--gtest_filter=${filter}")
  set_tests_properties(${suite} PROPERTIES ${ARGN} SKIP_REGULAR_EXPRESSION "no test cluster here")
endfunction()
