thalweg_bench(bench_optimizers SOURCES bench_optimizers.cpp
              LIBS thalweg_emulated_gpu thalweg_optim)
target_compile_options(bench_optimizers PRIVATE -fno-math-errno -fno-trapping-math)
