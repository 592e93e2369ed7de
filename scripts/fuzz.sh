#!/usr/bin/env bash
# Fuzzes the document loader: scripts/fuzz.sh [SECONDS] [WORK FOLDER], 60 s and build/fuzz-corpus where none are given.
# With FHERES_FUZZ_SANITIZE= (empty) there are no sanitizers, and memory over 512 MiB counts as a fault.
# A fault leaves its input in the work folder: copy it to tests/fuzz/corpus, where the suite replays it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
packages+=(clang)
install_packages
seconds=${1:-60}
work=${2:-build/fuzz-corpus}
sanitize=${FHERES_FUZZ_SANITIZE-address,undefined}
name=fuzz${sanitize:+-sanitized}
mkdir -p "$work" "build/$name"
cmake -S . -B "build/$name" -G Ninja -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=Release -DFHERES_CUDA=off \
  -DFHERES_WERROR=OFF -DFHERES_FUZZ=ON "-DFHERES_SANITIZE=${sanitize:+$sanitize,}fuzzer-no-link" >/dev/null
cmake --build "build/$name" --target fuzz_loader
seeds=build/fuzz-seeds
mkdir -p "$seeds"
for file in samples/*.yaml plans/*.yaml tests/golden/*/*.yaml tests/fuzz/corpus/*; do
  [ -f "$file" ] && cp "$file" "$seeds/$(echo "$file" | tr / _)"
done
limit=512
[ -z "$sanitize" ] || limit=3000
exec "build/$name/tests/fuzz/fuzz_loader" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=$limit -max_len=16384 \
  -print_final_stats=1 -report_slow_units=1 -artifact_prefix="$work/" -dict=tests/fuzz/words.dict "$work" "$seeds"
