#!/usr/bin/env bash
# What to run on a machine with a CUDA device: builds preset cuda, passes the tests that need the device, looks for
# bad memory accesses, and measures.
#   scripts/gpu.sh [--ready DIR] [--results DIR] [--skip STEP]... [BENCH OPTION...]
# --ready DIR    takes the executables from a folder instead of building (they may come from another machine)
# --results DIR  where logs and bench.json go; build/cuda/results by default
# --skip STEP    leaves out tests, memcheck or bench
# The rest goes to bench_ckks: see bench/README.md.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

tests=(cuda_driver_test ring_parity_test evaluator_parity_test)
ready="" results="$root/build/cuda/results" skipped=" "
while [ $# -gt 0 ]; do
  case $1 in
    --ready) ready=$2; shift 2 ;;
    --results) results=$2; shift 2 ;;
    --skip) skipped+="$2 "; shift 2 ;;
    *) break ;;
  esac
done
mkdir -p "$results"
failed=0

wanted() { [[ $skipped != *" $1 "* ]]; }
executable() {
  if [ -n "$ready" ]; then
    echo "$ready/$1"
  else
    find "$root/build/cuda" -type f -name "$1" -perm -u+x | head -n 1
  fi
}
# step <name> <command...>: runs it into a log, and shows the log's end where it fails.
step() {
  local name=$1 begun=$SECONDS
  shift
  if "$@" >"$results/$name.log" 2>&1; then
    printf '%-40s ok      %4d s\n' "$name" $((SECONDS - begun))
  else
    printf '%-40s FAILED  %4d s\n' "$name" $((SECONDS - begun))
    grep -m 12 -E 'ERROR|FATAL|values:|logged:|seed|SEED|N=2' "$results/$name.log" || true
    tail -n 15 "$results/$name.log"
    failed=1
  fi
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || true
if [ -z "$ready" ]; then
  install_packages
  build cuda
fi
if wanted tests; then
  for test in "${tests[@]}"; do step "$test" "$(executable "$test")"; done
fi
if wanted memcheck; then
  if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
      step "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 \
        "$(executable ring_parity_test)" --test-case='*every kind of source*,*rescaling at every level*'
    done
    step memcheck-driver compute-sanitizer --tool memcheck --report-api-errors no --error-exitcode 9 \
      "$(executable cuda_driver_test)"
  else
    echo "no compute-sanitizer here: memory accesses are not checked"
  fi
fi
if wanted bench; then
  "$(executable bench_ckks)" --json "$results/bench.json" "$@" | tee "$results/bench.txt" || failed=1
  "$(executable bench_seeded_keys)" | tee "$results/seeded_keys.txt" || failed=1
fi
exit "$failed"
