#!/bin/sh
# Stands in for thalweg-train: writes a journal as the real one does (engine/attempt/journal.md), resumes from the "checkpoint" of an
# earlier attempt, stops on TERM with code 75. Rank 0 works, the others only wait for it.
here=$(dirname "$0")
[ "$1" = --schema ] && exec cat "$here/schema.json"
# --check and --describe: dies, or finds a mistake, where a comment of the sweep file says so.
if [ "$1" = --check ] || [ "$1" = --describe ]; then
  for file; do :; done
  said=$(sed -n 's/^# check: //p' "$file")
  mistakes=$(sed -n 's/^# mistake: //p' "$file")
  [ "$said" = crash ] && kill -9 $$
  [ -n "$mistakes" ] && mistakes="{\"file\":\"sweep.yaml\",\"line\":1,\"column\":1,\"key\":\"train\",\"message\":\"$mistakes\",\"hint\":\"\"}"
  echo "{\"format\":1,\"shapes\":1,\"checked\":1,\"notes\":[],\"metrics\":[],\"diagnostics\":[$mistakes]}"
  exit 0
fi
folder=$(dirname "$1")
cd "$folder" || exit 1
# Proof of every run of this attempt: a second line would be a second run.
[ "${PMIX_RANK:-0}" = 0 ] || { while [ ! -e done ]; do sleep 0.02; done; exit 0; }
echo "$$" >> ran
env > environment
value() { sed -n "s/^ *\"\{0,1\}$1\"\{0,1\}: *\([^,}]*\).*/\1/p" trial.yaml | head -n 1; }
steps=$(value steps); pause=$(value pause); fail_at=$(value fail_at); code=$(value exit_code)
steps=${steps:-5}; pause=${pause:-0}; fail_at=${fail_at:-0}; code=${code:-0}
[ "$code" = 0 ] || { echo "stand-in: told to exit with $code" >&2; touch done; exit "$code"; }
attempt=$(basename "$folder")
done_before=0
if [ "$attempt" -gt 1 ]; then
  for earlier in ../*/checkpoints/step; do
    [ -e "$earlier" ] && s=$(cat "$earlier") && [ "$s" -gt "$done_before" ] && done_before=$s
  done
fi
n=0
line() { n=$((n + 1)); printf '{"n":%d,"t":%s.5,%s}\n' "$n" "$(date +%s)" "$1" >> journal.jsonl; }
mkdir -p checkpoints
stop=0
trap 'stop=1' TERM USR1
line "\"type\":\"start\",\"format\":1,\"ranks\":1,\"node_list\":[\"here\"],\"steps\":$steps,\"steps_per_epoch\":1,\"epochs\":$steps,\"resumed_step\":$done_before"
step=$done_before
while [ "$step" -lt "$steps" ]; do
  step=$((step + 1))
  line "\"type\":\"metrics\",\"points\":[[\"train/loss\",$step,0.$((10 + step))],[\"val/error\",$step,0.$((20 + step))]]"
  echo "$step" > checkpoints/step
  line "\"type\":\"checkpoint\",\"step\":$step,\"file\":\"checkpoints/step\""
  [ "$attempt" = 1 ] && [ "$step" = "$fail_at" ] && { echo "stand-in: dying as told" >&2; kill -9 $$; }
  [ "$stop" = 1 ] && { line "\"type\":\"end\",\"status\":\"stopped\",\"step\":$step,\"reason\":\"signal\""; touch done; exit 75; }
  [ "$pause" = 0 ] || [ "$pause" = 0.0 ] || sleep "$pause"
done
line "\"type\":\"end\",\"status\":\"finished\",\"step\":$step,\"reason\":\"\""
touch done
exit 0
