#!/usr/bin/env bash
# Builds fheres and passes its tests: scripts/test.sh [PRESET...], `release` where none is named.
# Presets are in CMakePresets.json: release, debug, asan, tsan. Tests that need a GPU: scripts/gpu.sh.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# The one that settles the format, where the distribution has it.
! apt-cache show clang-format-14 >/dev/null 2>&1 || packages+=(clang-format-14)
install_packages
# With everything installed, a check of documents that cannot run is a failure.
export FHERES_TEST_NO_SKIP=1
[ $# -gt 0 ] || set -- release
for preset in "$@"; do
  build "$preset"
  ctest --preset "$preset" -j "$(nproc)"
done
