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
exec "$python" -m pytest "$@"
