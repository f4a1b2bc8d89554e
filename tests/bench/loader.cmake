thalweg_bench(bench_loader SOURCES bench_loader.cpp
              LIBS thalweg_data)
