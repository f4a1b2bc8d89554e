# Whole training steps for engine_vs_pytorch.sh. operations.cpp and limit.cpp know oneDNN, as the cpu device's plan does.
thalweg_bench(bench_step SOURCES step/bench_step.cpp step/limit.cpp step/operations.cpp step/traffic.cpp step/trainer.cpp
               gpu/measured_kernels.cpp gpu/profile.cpp gpu/rates.cpp
              LIBS thalweg_emulated_gpu thalweg_train_lib thalweg_test_counted thalweg_onednn)
add_dependencies(bench_step thalweg-launch)
