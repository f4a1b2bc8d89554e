# What a GPU does at most, for on_gpu.sh.
thalweg_bench(bench_gpu SOURCES gpu/bench_gpu.cpp gpu/rates.cpp
              LIBS thalweg_emulated_gpu thalweg_gpu thalweg_tensor)
thalweg_bench(bench_kernels SOURCES gpu/bench_kernels.cpp
              LIBS thalweg_emulated_gpu thalweg_nn)
thalweg_bench(bench_predict SOURCES gpu/bench_predict.cpp
              LIBS thalweg_emulated_gpu thalweg_test_counted)
if(THALWEG_PYTHON)
  # Second tier: the measuring programs are compiled first; OnGpuItems is in the first tier.
  add_test(NAME OnGpuScript.Programs COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target bench_gpu bench_step)
  set_tests_properties(OnGpuScript.Programs PROPERTIES LABELS training_second TIMEOUT 900 FIXTURES_SETUP on_gpu_programs)
  add_test(NAME OnGpuScript COMMAND sh "${CMAKE_CURRENT_SOURCE_DIR}/gpu/on_gpu_test.sh" "${CMAKE_BINARY_DIR}")
  set_tests_properties(OnGpuScript PROPERTIES LABELS training_second TIMEOUT 300 FIXTURES_REQUIRED on_gpu_programs)
endif()
