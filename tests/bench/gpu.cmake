# What a GPU does at most, for on_gpu.sh.
add_executable(bench_gpu gpu/bench_gpu.cpp)
target_link_libraries(bench_gpu PRIVATE thalweg_settings thalweg_gpu thalweg_tensor)
add_executable(bench_kernels gpu/bench_kernels.cpp)
target_link_libraries(bench_kernels PRIVATE thalweg_settings thalweg_nn)
