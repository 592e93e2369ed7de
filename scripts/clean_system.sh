#!/usr/bin/env bash
# Installs the Debian packages on a system that has nothing but Debian's base, and uses them there: the tool explains and runs a
# sample, and a program is built against the library. Needs debootstrap, root, and the distribution's packages.
# scripts/clean_system.sh [BUILD_FOLDER] [SUITE]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
suite=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
system=$(mktemp -d)
trap 'rm -rf --one-file-system "$system"' EXIT

debootstrap --variant=minbase "$suite" "$system" >/dev/null
(cd "$build" && cpack -G DEB -B "$system/packages" >/dev/null)
rm -rf "$system/packages/_CPack_Packages"
# How this machine reaches its packages.
apt-config dump | grep -i '::proxy' >"$system/etc/apt/apt.conf.d/proxy" || true
cp /etc/resolv.conf "$system/etc/resolv.conf"

inside() { chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive bash -euc "$1"; }
inside 'apt-get install -y -qq --no-install-recommends /packages/fheres_*.deb >/dev/null
  cd /tmp && fheres --version && fheres explain /usr/share/doc/fheres/samples/first-steps.yaml
  fheres run /usr/share/doc/fheres/samples/automatic-rotate-scale.yaml --report report.json
  fheres trace report.json -o timeline.html'
inside 'apt-get install -y -qq --no-install-recommends g++ cmake make /packages/libfheres-dev_*.deb >/dev/null
  cmake -S /usr/share/doc/fheres/samples/cpp -B /tmp/samples >/dev/null && cmake --build /tmp/samples --target sample_05_use >/dev/null
  /tmp/samples/sample_05_use'
echo "both packages install on $suite and work"
