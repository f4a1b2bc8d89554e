#include "engine/simulate/program.h"

int main(int argc, char** argv) {
  return thalweg::engine::simulate::run_program({argv + 1, argv + argc});
}
