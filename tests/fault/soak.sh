#!/bin/sh
# SPDX-License-Identifier: MIT
# The fault scenarios at full size (make soak); tests/fault/README.md lists them beside their sizes in make test.
#
#   tests/fault/soak.sh                    all of them, several hours
#   tests/fault/soak.sh kill power_cut     those named, in this order
#
# SCALE=100 divides every size by 100 and so shows in minutes that the scenarios run. Prints one line a scenario: date,
# name, sizes, result, seconds; the results that are committed are in benchmarks/results/soak.txt.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${TRACKER_BUILD_DIR:-build}" && pwd)
scale=${SCALE:-1}
status=0

# of NUMBER: that number divided by the scale, at least 1.
of() { echo $((($1 + scale - 1) / scale)); }

# soak NAME SIZES COMMAND...: runs the command with SIZES ("NAME=VALUE ...") in its environment.
soak() {
  name=$1 sizes=$2 begin=$(date +%s)
  shift 2
  mkdir -p "$build/logs"
  # shellcheck disable=SC2086
  if env $sizes "$@" >"$build/logs/soak-$name.log" 2>&1; then
    result=passed
  else
    result=FAILED
    status=1
  fi
  if grep -q 'SKIPPED' "$build/logs/soak-$name.log"; then result="$result (parts skipped)"; fi
  printf '%s %s: %s, %s, %s s, log in %s\n' "$(date -u +%Y-%m-%d)" "$name" "$sizes" "$result" \
    "$(($(date +%s) - begin))" "$build/logs/soak-$name.log"
}

python() {
  name=$1 sizes=$2 test=$3
  # shellcheck disable=SC2086
  # A folder of its own: other runs of pytest remove old ones below /tmp.
  soak "$name" "PYTHONPATH=$build/python $sizes" .venv/bin/python -m pytest -q -s --timeout 14400 \
    -o faulthandler_timeout=14800 --basetemp "$build/soak-tmp" tests/python/$test
  rm -rf "$build/soak-tmp"
}

# native NAME SIZES PROGRAM [ARGUMENT...]
native() {
  name=$1 sizes=$2 program=$build/tests/fault_$3
  shift 3
  soak "$name" "$sizes" "$program" "$@"
}

scenario() {
  case $1 in
    # F1
    kill) native kill "TRACKER_TEST_KILLS=$(of 1000)" kill ;;
    kill_drop) native kill_drop "TRACKER_TEST_KILLS=$(of 1000)" kill '--gtest_filter=*drop*' ;;
    recovery) native recovery "TRACKER_TEST_KILLS=$(of 1000)" recovery ;;
    # all of them at once, against a model
    model) native model "TRACKER_TEST_KILLS=$(of 1000)" model ;;
    # F2, F3, F10
    out_of_memory) native out_of_memory "TRACKER_TEST_KILLS=$(of 1000)" memory '--gtest_filter=Out*' ;;
    # F2, F16: any number takes every write
    compaction) native compaction "TRACKER_TEST_KILLS=1" compaction '--gtest_filter=*CompactionCut*' ;;
    compact_ended) native compact_ended "TRACKER_TEST_KILLS=1" compact_ended ;;
    power_cut) native power_cut "TRACKER_TEST_KILLS=$(of 50)" power_cut ;;
    big_training) native big_training "TRACKER_TEST_MIB=$(of 4096)" memory '--gtest_filter=Big*' ;;
    # F13: as long again without the readers; the real limit of the WAL is reached within the hour
    parked_reader) native parked_reader "TRACKER_TEST_SECONDS=$(of 3600)" parked_reader ;;
    # F14, F17
    resume) python resume "TRACKER_TEST_KILLS=$(of 1000)" 'process/test_resume.py -k killed_and_resumed_twice' ;;
    fuse) native fuse "TRACKER_TEST_SECONDS=$(of 60)" fuse_store ;;
    # F20: at every byte
    cut) soak cut "TRACKER_TEST_KILLS=1" "$build/tests/unit_storage" '--gtest_filter=CutTest*' ;;
    # F22: two stops
    frozen) native frozen "TRACKER_TEST_SECONDS=$(of 3600)" frozen ;;
    # F26, F27
    spike) python spike "TRACKER_TEST_POINTS=$(of 10000000)" reading/test_spike.py ;;
    many_runs)
      python many_runs "TRACKER_TEST_RUNS=$(of 100000) TRACKER_TEST_POINTS=$(of 100000000)" reading/test_many_runs.py ;;
    # 1 GB of output, byte for byte
    console) python console "CONSOLE_BYTES=$(of 1000000000)" 'console/test_console_fd.py -k byte_for_byte' ;;
    # F28: one after the other, each needs twice the size on the disk
    large_artifact)
      python large_artifact "TRACKER_TEST_BYTES=$(of 20000000000)" 'artifacts/test_large_artifact.py -k rewritten'
      python large_artifact_killed "TRACKER_TEST_BYTES=$(of 20000000000)" \
        'artifacts/test_large_artifact.py -k killed' ;;
    # F29
    cycles) python cycles "TRACKER_TEST_CYCLES=$(of 100000)" process/test_cycles.py ;;
    month) python month "TRACKER_TEST_POINTS=$(of 1000000000)" process/test_month.py ;;
    *) echo "unknown: $1" >&2 && exit 2 ;;
  esac
}

if [ $# = 0 ]; then
  set -- kill recovery model out_of_memory compaction compact_ended power_cut big_training resume fuse cut spike
  set -- "$@" many_runs console large_artifact cycles parked_reader frozen month
fi
for name in "$@"; do scenario "$name"; done
exit $status
