#!/bin/sh
# search_vs_optuna.sh [SEEDS [FIRST]]: how close searches come to the least value of three functions: all search methods and
# Optuna's GP and TPE samplers by turns, seed after seed (20 of them, from 1 on). Build first: ninja -C build/release bench_search.
# Optuna comes from PyPI: python3 -m venv V && V/bin/pip install optuna scipy torch; then THALWEG_OPTUNA=V/bin/python sh ...
python=${THALWEG_OPTUNA:-python3}
"$python" -c 'import optuna, scipy, torch' 2>/dev/null || {
  echo "skipped: $python has no optuna, scipy and torch (THALWEG_OPTUNA names another)" >&2
  exit 0
}
cd "$(dirname "$0")/../.." && exec "$python" tests/bench/search/compare.py build/release/bin/bench_search "$@"
