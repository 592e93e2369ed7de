# What demo.sh and test.sh share: packages, and a build of one preset. Sourced, not run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

packages=(g++ cmake ninja-build pkg-config python3 python3-jsonschema python3-sarif-python-om python3-yaml
  libyaml-cpp-dev libcli11-dev nlohmann-json3-dev doctest-dev libfmt-dev libsodium-dev coinor-libclp-dev)

# Installs what is missing from the distribution's own packages; does nothing, and needs no rights, when all is there.
install_packages() {
  local missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  echo "installing: ${missing[*]}"
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
}

# build <preset> [target...]: configures and builds; the log stays out of sight unless something fails.
build() {
  local preset=$1
  shift
  local targets=()
  [ $# -eq 0 ] || targets=(--target "$@")
  mkdir -p "build/$preset"
  local log="build/$preset/build.log"
  echo "building (preset $preset)"
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" "${targets[@]}"; } >"$log" 2>&1; then
    tail -n 60 "$log"
    echo "the build failed; the whole log is in $log"
    exit 1
  fi
  grep -E '^-- fheres:' "$log" || true
}
