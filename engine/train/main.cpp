#include "engine/train/program.h"

int main(int argc, char** argv) {
  return thalweg::engine::run_program({argv + 1, argv + argc});
}
