# Programs for allreduce_vs_peers.sh: ours, and the peers that are installed (packaging/install-packages.sh bench).
set(folder "${CMAKE_BINARY_DIR}/bench")
add_library(bench_peer STATIC EXCLUDE_FROM_ALL allreduce/peer.cpp)
target_link_libraries(bench_peer PUBLIC thalweg_settings)

function(bench_program name)
  thalweg_bench(${name} SOURCES allreduce/${name}.cpp LIBS bench_peer ${ARGN})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${folder}")
  add_dependencies(bench_peers ${name})
endfunction()

add_custom_target(bench_peers)
add_dependencies(bench_peers thalweg-launch)
add_dependencies(benches bench_peers)
bench_program(peer_thalweg thalweg_comm)
bench_program(c2c Threads::Threads)
bench_program(peer_stream Threads::Threads)

find_path(THALWEG_GLOO_INCLUDE gloo/allreduce.h)
find_library(THALWEG_GLOO_LIBRARY gloo)
if(THALWEG_GLOO_INCLUDE AND THALWEG_GLOO_LIBRARY)
  bench_program(peer_gloo "${THALWEG_GLOO_LIBRARY}" Threads::Threads)
endif()

# Each MPI brings its own compiler wrapper; Fedora keeps them out of the PATH.
find_program(THALWEG_OPENMPI_CXX NAMES mpicxx.openmpi)
find_program(THALWEG_OPENMPI_CXX NAMES mpicxx PATHS /usr/lib64/openmpi/bin NO_DEFAULT_PATH)
find_program(THALWEG_MPICH_CXX NAMES mpicxx.mpich)
find_program(THALWEG_MPICH_CXX NAMES mpicxx PATHS /usr/lib64/mpich/bin NO_DEFAULT_PATH)
foreach(mpi IN ITEMS openmpi mpich)
  string(TOUPPER "${mpi}" upper)
  if(THALWEG_${upper}_CXX)
    set(sources "${CMAKE_CURRENT_SOURCE_DIR}/allreduce/peer_mpi.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/allreduce/peer.cpp")
    add_custom_command(
      OUTPUT "${folder}/peer_${mpi}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
      COMMAND "${THALWEG_${upper}_CXX}" -std=c++20 -O3 -Wall -Wextra -DOMPI_SKIP_MPICXX "-I${PROJECT_SOURCE_DIR}"
              ${sources} -o "${folder}/peer_${mpi}"
      DEPENDS ${sources} "${CMAKE_CURRENT_SOURCE_DIR}/allreduce/peer.h"
      COMMENT "peer_${mpi}")
    add_custom_target(peer_${mpi} DEPENDS "${folder}/peer_${mpi}")
    add_dependencies(bench_peers peer_${mpi})
  endif()
endforeach()
