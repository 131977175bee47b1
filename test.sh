#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every check that CI runs. Arguments go to pytest, e.g. ./test.sh test/model -k mimic
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
source .ci/environment.sh
prepare_environment sim,record,report,xacro,test
"$python" -m ruff check .
exec "$python" -m pytest "$@"
