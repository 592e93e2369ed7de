#!/usr/bin/env bash
# What to run on a machine with a CUDA device: builds preset cuda, passes the tests that need a device, lets NVIDIA's
# checkers look for bad accesses and races, and measures. Prints a line for each step; logs stay in the results folder.
#   scripts/gpu.sh [--ready DIR] [--results DIR] [--skip STEP]... [BENCH OPTION...]
# --ready DIR    takes the executables from a folder instead of building (they may come from another machine)
# --results DIR  where logs and bench.json go; build/cuda/results by default
# --skip STEP    leaves out tests, memcheck, initcheck, racecheck or bench
# The rest goes to bench_ckks: see bench/README.md.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ready="" results="$root/build/cuda/results" skipped=" "
while [ $# -gt 0 ]; do
  case $1 in
    --ready) ready=$(cd "$2" && pwd); shift 2 ;;
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
# The tests that need a device, and how to run one of them.
test_names() {
  if [ -n "$ready" ]; then
    find "$ready" -maxdepth 1 -name '*_test' -printf '%f\n' | sort
  else
    ctest --preset cuda -N | sed -n 's/.*Test *#[0-9]*: //p'
  fi
}
run_test() {
  if [ -n "$ready" ]; then step "$1" 0 "$ready/$1"; else step "$1" 0 ctest --preset cuda -V -R "^$1\$"; fi
}

# step <name> <exit code> <command...>: runs it into a log, expects that code, and shows the log's end where it is another.
step() {
  local name=$1 expected=$2 begun=$SECONDS code=0 verdict=ok
  shift 2
  timeout 600 "$@" >"$results/$name.log" 2>&1 || code=$?
  [ "$code" -eq "$expected" ] || verdict=FAILED
  printf '%-28s %-7s %4d s  %s\n' "$name" "$verdict" $((SECONDS - begun)) \
    "$(grep -o -E 'ERROR SUMMARY: .*|RACECHECK SUMMARY: .*|assertions: +[0-9]+' "$results/$name.log" | tail -n 1 | tr -s ' ')"
  [ "$verdict" = ok ] && return
  failed=1
  grep -m 12 -E 'ERROR|FATAL|values:|logged:|seed|SEED|N=2|Invalid|Potential|Race' "$results/$name.log" || true
  tail -n 15 "$results/$name.log"
}
# sanitize <name> <expected> <tool and its options, in one word> <executable> <options...>
sanitize() {
  local name=$1 expected=$2 tool=$3 program=$4
  shift 4
  # shellcheck disable=SC2086  # options are words
  step "$name" "$expected" compute-sanitizer --tool $tool --report-api-errors no --error-exitcode 9 \
    "$(executable "$program")" "$@"
}

nvidia-smi --query-gpu=index,name,driver_version,memory.total --format=csv,noheader || true
if [ -z "$ready" ]; then
  install_packages
  build cuda
fi
if wanted tests; then
  for test in $(test_names); do run_test "$test"; done
fi

ring_cases='--test-case=*every kind of source*,*rescaling at every level*'
evaluator_cases='--test-case=*checkers can afford*'
if wanted memcheck || wanted initcheck || wanted racecheck; then
  if ! command -v compute-sanitizer >/dev/null; then
    echo "no compute-sanitizer here: nothing looks for bad accesses and races"
    skipped+="memcheck initcheck racecheck "
  fi
fi
if wanted memcheck; then
  # Every block an allocation of its own, else neighbours look like one to the checker. It makes launches wait for their
  # kernels, so none may wait for the host.
  export FHERES_TEST_ONE_ALLOCATION_PER_BLOCK=1 FHERES_TEST_STREAM_NO_GATES=1
  export FHERES_TEST_STREAM_ROUNDS=${FHERES_TEST_STREAM_ROUNDS:-300}
  memcheck=memcheck
  if compute-sanitizer --help | grep -q track-stream-ordered-races; then
    memcheck+=" --track-stream-ordered-races all"
  fi
  sanitize memcheck-driver 0 "$memcheck" cuda_driver_test
  sanitize memcheck-ring 0 "$memcheck" ring_parity_test "$ring_cases"
  sanitize memcheck-evaluator 0 "$memcheck" evaluator_parity_test "$evaluator_cases"
  sanitize memcheck-graphs 0 memcheck evaluator_parity_test '--test-case=graphs:*'
  sanitize memcheck-streams 0 "$memcheck" cuda_streams_test --test-case='*R32*'
  sanitize memcheck-devices 0 "$memcheck" cuda_devices_test
  sanitize memcheck-run 0 "$memcheck" run_drivers_test --test-case='*real device*'
  # And it must find what is wrong on purpose.
  sanitize memcheck-finds-a-fault 9 "$memcheck" cuda_streams_test --no-skip --test-case='*complains*'
  unset FHERES_TEST_ONE_ALLOCATION_PER_BLOCK FHERES_TEST_STREAM_NO_GATES FHERES_TEST_STREAM_ROUNDS
fi
if wanted initcheck; then
  # Workspaces are left as the allocator gives them, so that a read of what nobody wrote is seen.
  export FHERES_TEST_ONE_ALLOCATION_PER_BLOCK=1
  sanitize initcheck-ring 0 initcheck ring_parity_test "$ring_cases"
  sanitize initcheck-evaluator 0 initcheck evaluator_parity_test "$evaluator_cases"
  unset FHERES_TEST_ONE_ALLOCATION_PER_BLOCK
fi
if wanted racecheck; then
  sanitize racecheck-ring 0 racecheck ring_parity_test "$ring_cases"
  sanitize racecheck-evaluator 0 racecheck evaluator_parity_test "$evaluator_cases"
fi
if wanted bench; then
  "$(executable bench_ckks)" --json "$results/bench.json" "$@" | tee "$results/bench.txt" || failed=1
  "$(executable bench_seeded_keys)" | tee "$results/seeded_keys.txt" || failed=1
fi
[ "$failed" -eq 0 ] && echo "all of it is well; logs are in $results" || echo "something failed; logs are in $results"
exit "$failed"
