#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every check that CI runs. Arguments go to pytest, e.g. ./test.sh test/model -k mimic
# After --ros jazzy it is the ROS 2 of that distribution, from wheels: ./test.sh --ros jazzy test/nodes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source .ci/environment.sh
wheels=
if [ "${1:-}" = --ros ]; then
  wheels=${2:?which distribution?}
  shift 2
fi
prepare_environment sim,record,report,xacro,symbolic,test "$wheels"
"$python" -m ruff check .

# Whether no argument says which tests: options with a value are written with =.
everything() {
  local argument
  for argument; do
    case $argument in
      -k* | -m*) return 1 ;;
      -*) ;;
      *) return 1 ;;
    esac
  done
}

everything "$@" || exec "$python" -m pytest "$@"
# Nodes are judged by their timing and have the machine to themselves; the rest shares it. What
# fails by a machine that stood still is run once more, as colcon test --retest-until-pass does:
# both runs are printed, and twice is a failure.
status=0
"$python" -m pytest --numprocesses=auto --dist=loadfile -m 'not ros' "$@" || status=$?
"$python" -m pytest -m ros --reruns=1 -raR "$@" || status=$?
exit "$status"
