#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The checks of this package.
#
#   ./test.sh                       all that CI runs: ruff, mypy and pytest
#   ./test.sh --quick               those that need no nodes and at most some seconds each
#   ./test.sh test/model -k mimic   arguments for pytest
#   ./test.sh --ros jazzy ...       the same with the ROS 2 of that distribution, from wheels
#   ./test.sh --ros-only            only the rooms that use ROS 2, without slow tests of nodes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source .ci/environment.sh
wheels='' scope=all
while :; do
  case ${1:-} in
    --ros) wheels=${2:?which distribution?}; shift 2 ;;
    --quick) scope=quick; shift ;;
    --ros-only) scope=ros; shift ;;
    *) break ;;
  esac
done
prepare_environment sim,record,report,xacro,symbolic,test "$wheels"
"$python" -m ruff check .
# Types are checked against those of a numpy that Python 3.10 and ROS 2 up to Kilted do not have.
numpy=$("$python" -c 'import numpy; print(numpy.__version__)')
[ $scope = ros ] || ! at_least "$numpy" 2.3 || "$python" -m mypy
# Tests end with this script, see test/conftest.py.
export ROBOT_DYNAMICS_TEST_SCRIPT=$$

# Whether all arguments are options without a choice of tests: those with a value are written
# with =.
only_options() {
  local argument
  for argument; do
    case $argument in
      -k* | -m*) return 1 ;;
      -*) ;;
      *) return 1 ;;
    esac
  done
}

only_options "$@" || exec "$python" -m pytest "$@"

side_by_side=(--numprocesses=auto --dist=loadfile)
# A test that fails because the machine stood still is run once more, as colcon test
# --retest-until-pass does: both runs are printed, and twice is a failure.
twice=(--reruns=1 -raR)
folders=() slow=''
case $scope in
  quick) exec "$python" -m pytest "${side_by_side[@]}" -m 'not ros and not slow' "$@" ;;
  ros) folders=(test/nodes test/bringup) slow=' and not slow' ;;
esac
status=0
"$python" -m pytest "${side_by_side[@]}" -m 'not ros' "$@" "${folders[@]}" || status=$?
"$python" -m pytest "${side_by_side[@]}" "${twice[@]}" -m "ros and not wall_time$slow" "$@" \
  "${folders[@]}" || status=$?
# What is judged by wall time has the machine to itself.
"$python" -m pytest "${twice[@]}" -m "wall_time$slow" "$@" "${folders[@]}" || status=$?
exit "$status"
