# Read by ctest before all tests. TIMEOUT counts wall time and only guards against hanging: what tests promise they
# measure by the time that the machine had for them (tests/support/deadline.h). So every TIMEOUT has room for other load
# here, and grows with THALWEG_TEST_SLOWNESS, which tests/run.sh measures.
set(thalweg_room_for_load 5)
set(thalweg_slowness_in_tenths 10)
if("$ENV{THALWEG_TEST_SLOWNESS}" MATCHES "^([0-9]+)(\\.([0-9]))?")
  set(thalweg_slowness_in_tenths "${CMAKE_MATCH_1}${CMAKE_MATCH_3}")
  if(NOT CMAKE_MATCH_2)
    string(APPEND thalweg_slowness_in_tenths 0)
  endif()
endif()

# In place of ctest's own command, which is _set_tests_properties then. Every word goes on as it is, lists included.
function(set_tests_properties)
  set(words "")
  set(before "")
  math(EXPR last "${ARGC} - 1")
  foreach(i RANGE ${last})
    set(word "${ARGV${i}}")
    if(before STREQUAL "TIMEOUT" AND word MATCHES "^[0-9]+$")
      math(EXPR word "${word} * ${thalweg_room_for_load} * ${thalweg_slowness_in_tenths} / 10")
    endif()
    string(APPEND words " [==[${word}]==]")
    set(before "${word}")
  endforeach()
  cmake_language(EVAL CODE "_set_tests_properties(${words})")
endfunction()
