#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tries ./demo in a fresh copy of this clone, as on machines other than that of its authors.
#
#   .ci/try_installation.sh           all of them; each installs an environment of its own
#   .ci/try_installation.sh spaces    one of them: see `tries` below
#
# Each prints a line with its result and its time; the exit status is the number of failures.
# What a try needs and this machine does not have (another Python, root, namespaces) is a skip.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
log=$work/log
# The shortest demo. Nothing of this shell but its certificates is passed on.
demo=(./demo --seconds 19 --rate 200)
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
tries=(python3.10 python3.11 python3.12 python3.13 uv spaces user read_only_home offline no_venv)

# A fresh copy of what is committed.
copy() {
  mkdir -p "$1" && git -C "$root" archive HEAD | tar -x -C "$1"
}

# Run a command in a folder with a clean environment.
clean() {
  local folder=$1 home=$2
  shift 2
  (cd "$folder" && env -i PATH="$path" HOME="$home" ${PIP_CERT:+PIP_CERT="$PIP_CERT"} \
    ${SSL_CERT_FILE:+SSL_CERT_FILE="$SSL_CERT_FILE"} ${python:+PYTHON="$python"} \
    "$@") >> "$log" 2>&1
}

has_report() {
  [ "$(stat -c %s "$1/demo-output/report.html" 2> /dev/null || echo 0)" -gt 100000 ]
}

# Whether the demo in a fresh copy leaves its report.
demo_in() {
  local folder=$1 home=$2
  clean "$folder" "$home" "${demo[@]}" && has_report "$folder"
}

interpreter() {
  local found
  found=$(command -v "$1") && "$found" -c 'import venv, ensurepip' 2> /dev/null \
    && "$found" -c 'import sys; print(sys.executable)'
}

try_python() {
  python=$(interpreter "$1") || return 77
  copy "$work/a" && mkdir "$work/home" && demo_in "$work/a" "$work/home"
}
try_python3.10() { try_python python3.10; }
try_python3.11() { try_python python3.11; }
try_python3.12() { try_python python3.12; }
try_python3.13() { try_python python3.13; }

try_uv() {
  local uv
  uv=$(command -v uv) || return 77
  path=$(dirname "$uv"):$path
  copy "$work/a" && mkdir "$work/home" && demo_in "$work/a" "$work/home"
}

try_spaces() {
  copy "$work/a folder/of the user's" && mkdir "$work/my home" \
    && demo_in "$work/a folder/of the user's" "$work/my home"
}

try_user() {
  [ "$(id -u)" = 0 ] || return 77
  copy "$work/a" && mkdir "$work/home" && chmod 755 "$work" && chown -R 65534:65534 "$work/a" \
    "$work/home" && as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups) \
    && clean "$work/a" "$work/home" "${as_user[@]}" "${demo[@]}" && has_report "$work/a"
}

# A home that cannot be written, by an ordinary user: kernels are kept in the temporary folder.
try_read_only_home() {
  [ "$(id -u)" = 0 ] || return 77
  copy "$work/a" && mkdir "$work/home" && chmod 755 "$work" && chown -R 65534:65534 "$work/a" \
    && clean "$work/a" "$work/home" setpriv --reuid=65534 --regid=65534 --clear-groups \
      "${demo[@]}" && has_report "$work/a" && [ -z "$(ls -A "$work/home")" ]
}

# The second run has no network but the loopback interface.
try_offline() {
  unshare --net true 2> /dev/null || return 77
  copy "$work/a" && mkdir "$work/home" && demo_in "$work/a" "$work/home" \
    && rm -r "$work/a/demo-output" && clean "$work/a" "$work/home" unshare --net \
      sh -c 'ip link set lo up 2> /dev/null; exec "$@"' sh "${demo[@]}" && has_report "$work/a"
}

# Without the package python3-venv, the way to install it is named and nothing is left.
try_no_venv() {
  local real
  real=$(command -v python3)
  copy "$work/a" && mkdir "$work/home"
  printf '#!/bin/sh\ncase "$*" in *ensurepip*) exit 1 ;; esac\nexec %s "$@"\n' "$real" \
    > "$work/python3"
  chmod +x "$work/python3"
  python=$work/python3
  ! clean "$work/a" "$work/home" "${demo[@]}" && grep -q 'apt install python3-venv' "$log" \
    && [ ! -e "$work/a/.venv" ]
}

failures=0
for name in "${@:-${tries[@]}}"; do
  began=$SECONDS status=0 python=''
  : > "$log"
  ("try_$name") || status=$?
  result=failed
  if [ $status = 0 ]; then result=passed; elif [ $status = 77 ]; then result=skipped; fi
  printf '%-16s %-8s %4d s\n' "$name" "$result" $((SECONDS - began))
  if [ $result = failed ]; then failures=$((failures + 1)); tail -n 15 "$log"; fi
  chmod -R u+w "$work"
  find "$work" -mindepth 1 -delete
done
exit $failures
