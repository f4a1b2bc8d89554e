thalweg_bench(bench_sync SOURCES bench_sync.cpp
              LIBS thalweg_sync)
