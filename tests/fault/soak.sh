#!/bin/sh
# SPDX-License-Identifier: MIT
# The kill tests at full size: 1,000 kills a policy (make soak). Prints one result line a program, with the date.
set -eu
cd "$(dirname "$0")/../.."
build=${TRACKER_BUILD_DIR:-build}
kills=${1:-1000}
status=0
for program in fault_kill fault_recovery; do
  test -x "$build/tests/$program" || continue
  begin=$(date +%s)
  if TRACKER_TEST_KILLS=$kills "$build/tests/$program" >"$build/soak-$program.log" 2>&1; then
    result=passed
  else
    result=FAILED
    status=1
  fi
  printf '%s %s: %s kills a test, %s, %s s, log in %s\n' "$(date -u +%Y-%m-%d)" "$program" "$kills" "$result" \
    "$(($(date +%s) - begin))" "$build/soak-$program.log"
done
exit $status
