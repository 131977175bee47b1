# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Shared by ./demo and ./test.sh: a Python that has all this package needs.
#
#   source .ci/environment.sh
#   prepare_environment EXTRAS [jazzy]      # sets $python
#
# Two worlds, never mixed:
# - Without ROS 2: a virtual environment in .venv, with ROS 2 itself from wheels: those of the
#   newest distribution that has them, or of another one in .venv-<distro>-wheels.
# - Where a ROS 2 environment is sourced: a virtual environment in .venv-<distro>
#   that sees the system's packages. rclpy, the messages and numpy stay those of
#   ROS 2; only what is missing is added.
#
# EXTRAS are the optional groups of setup.py, e.g. 'sim,record'. A stamp in the
# environment says for which files and extras it was made, so a second run only
# compares two strings.

readonly oldest_python=3.10 newest_python_of_wheels=3.13

say() { printf '%s\n' "$*" >&2; }

die() { say "error: $*"; exit 1; }

# Version of an interpreter as major.minor.
python_version() {
  "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
}

# Whether version $1 is at least version $2.
at_least() {
  [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]
}

# Whether the caller has sourced a ROS 2 environment.
ros_is_sourced() {
  [ -n "${ROS_DISTRO:-}" ]
}

# The interpreter to build on: $PYTHON, or the newest suitable one on the PATH.
find_python() {
  local candidate version
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.10}; do
    command -v "$candidate" > /dev/null || continue
    version=$(python_version "$candidate" 2> /dev/null) || continue
    at_least "$version" "$oldest_python" || continue
    ros_is_sourced || at_least "$newest_python_of_wheels" "$version" || continue
    command -v "$candidate"
    return
  done
  return 1
}

# One line that changes whenever the environment has to be made again.
environment_key() {
  local base=$1 extras=$2 wheels=${3:-}
  { cat setup.py setup.cfg pyproject.toml constraints*.txt .ci/environment.sh
    "$base" -c 'import sys; print(sys.version)'
    printf '%s %s %s\n' "$extras" "${ROS_DISTRO:-}" "$wheels"
  } | sha256sum | cut -c 1-64
}

create_environment() {
  local base=$1 folder=$2 flags=() said
  if ros_is_sourced; then flags=(--system-site-packages); fi
  if command -v uv > /dev/null; then
    uv venv --quiet --seed --python "$base" "${flags[@]}" "$folder"
  elif "$base" -c 'import ensurepip, venv' 2> /dev/null; then
    # What it says is only of use when it failed by itself, not after Ctrl-C.
    said=$("$base" -m venv "${flags[@]}" "$folder" 2>&1) || die "$said"
  else
    die "$base cannot make virtual environments: sudo apt install python3-venv" \
        "(or install uv), then run this again"
  fi
}

# Versions that the environment must not leave: the tested ones, or those of ROS 2.
write_constraints() {
  local base=$1 file=$2 wheels=${3:-}
  if ros_is_sourced; then
    "$base" - > "$file" <<'PYTHON'
from importlib.metadata import PackageNotFoundError, version
for name in ('numpy', 'scipy', 'numba', 'PyYAML', 'matplotlib', 'pytest', 'setuptools'):
    try:
        print(f'{name}=={version(name)}')
    except PackageNotFoundError:
        pass
PYTHON
  elif [ -n "$wheels" ]; then
    { grep -v '^ros-' constraints.txt; cat "constraints-$wheels.txt"; } > "$file"
  else
    cp constraints.txt "$file"
  fi
}

# Whether an environment can be installed into; one whose making was interrupted cannot.
is_complete() {
  local python=$1
  [ -x "$python" ] && { command -v uv > /dev/null || "$python" -c 'import pip' 2> /dev/null; }
}

# Seconds that packages take on an idle machine of two cores, downloads included.
expected_seconds() {
  local extras=$1 seconds=30
  if command -v uv > /dev/null; then seconds=8; fi
  case ,$extras, in *,test,*) seconds=$((2 * seconds)) ;; esac
  echo "$seconds"
}

# Count the seconds on a terminal until this script ends or this process is killed.
show_seconds() {
  local expected=$1 began=$SECONDS
  while [ -t 2 ] && kill -0 $$ 2> /dev/null; do
    printf '\rinstalling packages: %d s of about %d s ' $((SECONDS - began)) "$expected" >&2
    sleep 1
  done
}

# Remarks of pip (an editable install, an index that is not there) are hidden, its errors shown.
# Only wheels are installed, so that no compiler is needed, except for packages of pure Python
# that have none. Python compiles the modules that it imports; pip would compile them all.
install_packages() {
  local folder=$1 extras=$2 status=0 counter
  local options=(--constraint "$folder/constraints.txt" --only-binary :all:
    --no-binary empy --no-binary urdf-parser-py --editable ".[$extras]")
  show_seconds "$(expected_seconds "$extras")" &
  counter=$!
  if command -v uv > /dev/null; then
    uv pip install --quiet --python "$folder/bin/python" "${options[@]}" || status=$?
  else
    "$folder/bin/python" -m pip install -qq --disable-pip-version-check --use-pep517 \
      --no-compile "${options[@]}" || status=$?
  fi
  kill "$counter" 2> /dev/null || true
  wait "$counter" 2> /dev/null || true
  if [ -t 2 ]; then say; fi
  [ $status = 0 ] || die "packages could not be installed; run this again where a network is there"
}

# Refuse an environment in which two ROS 2 would meet.
check_environment() {
  local folder=$1
  "$folder/bin/python" - "$folder" <<'PYTHON' || die "see above"
import os
import sys
from pathlib import Path

try:
    import rclpy
    import sensor_msgs
except ImportError as error:
    sys.exit(f'ROS 2 cannot be imported: {error}')
inside = [Path(sys.argv[1]).resolve() in Path(module.__file__).resolve().parents
          for module in (rclpy, sensor_msgs)]
if os.environ.get('ROS_DISTRO'):
    if any(inside):
        sys.exit(f'{sys.argv[1]} holds ROS 2 wheels although ROS 2 {os.environ["ROS_DISTRO"]} is '
                 'sourced: remove that folder and run this again')
elif not all(inside):
    sys.exit(f'Python finds ROS 2 outside of {sys.argv[1]} ({rclpy.__file__}): unset PYTHONPATH, '
             'or source the setup.bash of that ROS 2')
PYTHON
}

prepare_environment() {
  local extras=$1 wheels=${2:-} base folder key began=$SECONDS
  base=$(find_python) || die "needs Python $oldest_python or newer (ROS 2 wheels: up to" \
    "$newest_python_of_wheels); install it, or name one with PYTHON=/path/to/python3"
  [ -z "$wheels" ] || [ -f "constraints-$wheels.txt" ] || die "there are no wheels of ROS 2 $wheels" \
    "to test with, only: $(printf '%s\n' constraints-*.txt | sed 's/constraints-//; s/\.txt//')"
  if ros_is_sourced; then
    [ -z "$wheels" ] || die "ROS 2 $ROS_DISTRO is sourced: start from a shell without ROS 2 to test" \
      "with the wheels of $wheels"
    "$base" -c 'import rclpy' 2> /dev/null || die "ROS 2 $ROS_DISTRO is sourced but $base" \
      "cannot import rclpy: install ros-$ROS_DISTRO-rclpy, or start from a shell without ROS 2"
    folder=.venv-$ROS_DISTRO
  else
    [ "$(uname -sm)" = 'Linux x86_64' ] || die "without an installed ROS 2 this needs its wheels," \
      "which exist for Linux on x86-64 only: install ROS 2, source its setup.bash and run this again"
    folder=.venv${wheels:+-$wheels-wheels}
    extras=ros,${extras/%test/test,ros-test}
  fi
  python=$PWD/$folder/bin/python
  key=$(environment_key "$base" "$extras" "$wheels")
  local stamp=$folder/.made-for-$extras
  if [ -x "$python" ] && [ "$(cat "$stamp" 2> /dev/null)" = "$key" ]; then
    return
  fi
  say "Setting up $folder ($("$base" --version)), once, about $(expected_seconds "$extras") s on an" \
    "idle machine ..."
  [ -w "$folder" ] || { [ ! -e "$folder" ] && [ -w . ]; } \
    || die "cannot write to $PWD/$folder: run this in a clone of your own"
  is_complete "$python" || create_environment "$base" "$folder"
  write_constraints "$base" "$folder/constraints.txt" "$wheels"
  install_packages "$folder" "$extras"
  check_environment "$folder"
  printf '%s\n' "$key" > "$stamp"
  say "Set up in $((SECONDS - began)) s"
}
