#!/bin/sh
# fashion_mnist_table.sh [SWEEP]: runs fashion_mnist_table.yaml as a sweep on this machine (a controller of its own in a
# temporary folder; four minutes on two cores) and prints its accuracies beside those of an independent program. SWEEP: a
# finished sweep of your own controller instead. What lies outside the band is marked; nothing is asserted.
set -eu
cd "$(dirname "$0")/../.."
PATH=$PWD/build/release/bin:$PATH
sweep=${1:-}
if [ -z "$sweep" ]; then
  THALWEG_HOME=$(mktemp -d)
  export THALWEG_HOME
  trap 'thalweg daemon stop >/dev/null 2>&1 || true; rm -rf "$THALWEG_HOME"' EXIT
  thalweg run tests/bench/fashion_mnist_table.yaml --backend local >"$THALWEG_HOME/run.log" 2>&1 || {
    tail -n 20 "$THALWEG_HOME/run.log" >&2
    exit 1
  }
  sweep=1
fi
thalweg query --csv "
  SELECT o.value, d.value, v.value, t.value FROM trials AS r
  JOIN hyperparameters AS o ON o.sweep = r.sweep AND o.trial = r.trial AND o.name = 'optimizer.name'
  JOIN hyperparameters AS d ON d.sweep = r.sweep AND d.trial = r.trial AND d.name = 'schedule.decay'
  JOIN latest_metrics AS v ON v.sweep = r.sweep AND v.trial = r.trial AND v.metric = 'val/error'
  JOIN latest_metrics AS t ON t.sweep = r.sweep AND t.trial = r.trial AND t.metric = 'train/loss'
  WHERE r.sweep = $sweep AND r.state = 'finished'" | python3 tests/bench/fashion_mnist_table.py
