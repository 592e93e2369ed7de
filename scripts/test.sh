#!/usr/bin/env bash
# Builds fheres and passes its tests: scripts/test.sh [PRESET...], `release` where none is named.
# Presets are in CMakePresets.json: release, debug, asan, tsan. Tests that need a GPU: scripts/gpu.sh.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install_packages
[ $# -gt 0 ] || set -- release
for preset in "$@"; do
  build "$preset"
  ctest --preset "$preset" -j "$(nproc)"
done
