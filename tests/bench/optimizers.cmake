add_executable(bench_optimizers bench_optimizers.cpp)
target_link_libraries(bench_optimizers PRIVATE thalweg_settings thalweg_emulated_gpu thalweg_optim)
target_compile_options(bench_optimizers PRIVATE -fno-math-errno -fno-trapping-math)
