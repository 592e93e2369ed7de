#!/usr/bin/env bash
# Builds fheres and runs its main job: a real encrypted workload under a byte budget, on a GPU where a usable one
# is there, else on the emulated device. Writes report.json and trace.json here.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install_packages
build release fheres
fheres=build/release/cli/fheres

show() {
  echo
  echo "\$ fheres $*"
  "$fheres" "$@"
}
show validate samples/automatic-rotate-scale.yaml
show explain samples/automatic-rotate-scale.yaml
show run samples/automatic-rotate-scale.yaml --report report.json --trace trace.json
echo
echo "wrote report.json and trace.json; open the trace at ui.perfetto.dev or chrome://tracing"
