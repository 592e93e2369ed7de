#!/usr/bin/env bash
# Installs the Debian packages on a system that has nothing but Debian's base, and uses them there as somebody does who has
# just installed them: the tool, its manual page and completions, and a program that is built against the library.
# Needs debootstrap and root; packages come from where this machine's apt takes its own.
# scripts/clean_system.sh [BUILD_FOLDER] [SUITE]
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(cd "${1:-$root/build/release}" && pwd)
suite=${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
say() { echo "== $*"; }
for command in debootstrap cpack chroot; do
  command -v "$command" >/dev/null || { echo "clean_system.sh: $command is not here" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "clean_system.sh: only root can make a system of its own" >&2; exit 2; }
# The archive that this machine has the suite from.
mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' | awk -v suite="$suite" '$2 == suite { print $1; exit }')
[ -n "$mirror" ] || { echo "clean_system.sh: apt has no archive of $suite here: apt-get update" >&2; exit 2; }

system=$(mktemp -d)
chmod 755 "$system"  # for who does not run as root in there
trap 'rm -rf --one-file-system "$system"' EXIT
say "the packages"
(cd "$build" && cpack -G DEB -B "$system/packages" >/dev/null)
rm -rf "$system/packages/_CPack_Packages"
ls "$system/packages"
say "a bare $suite"
debootstrap --variant=minbase "$suite" "$system" "$mirror" >"$build/clean_system.log"
# How this machine reaches its archives.
apt-config dump | grep -i '^acquire::.*proxy' >"$system/etc/apt/apt.conf.d/proxy" || true
rm -rf "$system/etc/apt/sources.list" "$system/etc/apt/sources.list.d"
cp -R /etc/apt/sources.list.d "$system/etc/apt/" 2>/dev/null || mkdir "$system/etc/apt/sources.list.d"
[ ! -f /etc/apt/sources.list ] || cp /etc/apt/sources.list "$system/etc/apt/"
cp /etc/resolv.conf "$system/etc/resolv.conf"

inside() {
  chroot "$system" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    bash -euo pipefail -c "$1"
}
inside 'apt-get update -qq; ! command -v g++ >/dev/null'
say "fheres, the tool"
inside 'before=$(dpkg-query -f . -W | wc -c)
  apt-get install -y -qq --no-install-recommends /packages/fheres_*.deb >/dev/null
  echo "$(($(dpkg-query -f . -W | wc -c) - before)) packages came: $(dpkg-query -f "\${Depends}" -W fheres)"
  cd /tmp && fheres --version
  samples=/usr/share/doc/fheres/samples
  fheres validate $samples/*.yaml
  fheres explain $samples/first-steps.yaml
  fheres compile $samples/explicit-tiles.yaml -o /tmp/plan.yaml --allow-outside
  fheres verify /tmp/plan.yaml --allow-outside
  fheres run $samples/automatic-rotate-scale.yaml --device emulated --report report.json
  fheres trace report.json -o timeline.html && grep -q "</html>" timeline.html
  fheres init mine.yaml && fheres run mine.yaml --device emulated --quiet'
say "its manual page and completions"
inside 'fheres man >/tmp/fheres.1 && zcat -f /usr/share/man/man1/fheres.1* | cmp - /tmp/fheres.1
  fheres completion bash | cmp - /usr/share/bash-completion/completions/fheres
  fheres completion zsh | cmp - /usr/share/zsh/vendor-completions/_fheres
  fheres completion fish | cmp - /usr/share/fish/vendor_completions.d/fheres.fish
  apt-get install -y -qq --no-install-recommends man-db bash-completion >/dev/null
  man fheres | grep -m 1 -A 2 NAME
  . /usr/share/bash-completion/bash_completion; _completion_loader fheres || [ $? = 124 ]
  COMP_WORDS=(fheres val); COMP_CWORD=1; _fheres; echo "fheres val<tab>: ${COMPREPLY[*]}"; [ "${COMPREPLY[*]}" = validate ]'
say "libfheres-dev, the library"
inside 'apt-get install -y -qq --no-install-recommends g++ cmake make /packages/libfheres-dev_*.deb >/dev/null
  cmake -S /usr/share/doc/fheres/samples/cpp -B /tmp/samples >/dev/null && cmake --build /tmp/samples --target sample_05_use >/dev/null
  /tmp/samples/sample_05_use'
say "gone again"
inside 'apt-get purge -y -qq fheres libfheres-dev >/dev/null
  left=$(find / -xdev -path /proc -prune -o -path /packages -prune -o -path /tmp -prune -o -name "*fheres*" -print); echo "left: ${left:-nothing}"; [ -z "$left" ]'
echo "both packages install on $suite, work, and leave nothing behind"
