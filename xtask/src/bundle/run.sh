#!/usr/bin/env bash
# Starts what lies in this folder, wherever the folder lies. `run help` says how.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

usage() {
  cat <<'END'
Usage: run test [--vendor host|nvidia|amd]... [NAME]   every test executable, or those whose name holds NAME
       run demo [OPTIONS]                  the demo; `run demo --help`
       run info [OPTIONS]                  what vendor libraries and devices there are
       run bench NAME [ARGUMENTS]          one benchmark; without NAME, their names
       run example NAME [ARGUMENTS]        one example; without NAME, their names
       run gst-launch|gst-inspect ...      GStreamer's tools with this plugin
       run exec PROGRAM ...                any program in this environment
END
}

# A copy can lose the mode bits; a read-only folder that kept them is as good.
chmod +x "$here"/bin/* 2>/dev/null

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
libraries=$here/lib
ldconfig=$(PATH=$PATH:/sbin:/usr/sbin command -v ldconfig)
if [ -z "$ldconfig" ] || ! "$ldconfig" -p | grep -q 'libstdc++\.so\.6'; then
  libraries=$libraries:$here/lib-fallback
fi
export LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PATH=$here/bin:$PATH
export GST_PLUGIN_PATH=$here/plugins GST_PLUGIN_SYSTEM_PATH= GST_PLUGIN_SYSTEM_PATH_1_0=
export GST_PLUGIN_SCANNER=$here/bin/gst-plugin-scanner GST_REGISTRY=$scratch/registry.bin
unset GST_PLUGIN_PATH_1_0 GST_PLUGIN_SCANNER_1_0 GST_REGISTRY_1_0
# Tests that start programs or read assets look here instead of in the build's folders.
export HIP_PROGRAMS=$here/bin HIP_ASSETS=$here/assets

# Test executables, benchmarks and examples lie in one archive.
unpack() {
  xz --decompress --stdout "$here/programs.tar.xz" | tar -x -C "$scratch" "$1"
}

# One pass over the test executables for one vendor; adds to the totals.
test_vendor() {
  local vendor=$1 filter=$2 reason file name log status ran bad
  if ! reason=$(hip-info --vendor "$vendor"); then
    echo "$vendor: not run: $reason"
    absent=$((absent + 1))
    return
  fi
  for file in "$scratch"/tests/*; do
    name=${file##*/}
    [[ $name == *"$filter"* ]] || continue
    log=$scratch/log
    # One test at a time on a GPU: tests hold streams up, and a driver makes other threads' frees
    # wait for that. A test that does not find the device has failed, not been skipped.
    (
      cd "$scratch" || exit 1
      export HIP_TEST_VENDOR=$vendor HIP_TEST_REQUIRE=1
      [ "$vendor" = host ] || export RUST_TEST_THREADS=1
      "$file"
    ) >"$log" 2>&1
    status=$?
    read -r ran bad < <(awk '/^test result: / { for (i = 2; i <= NF; i++) {
      if ($i ~ /^passed/) p += $(i-1); if ($i ~ /^failed/) f += $(i-1) } }
      END { print p + 0, f + 0 }' "$log")
    # A crash prints no result line; it is a failure all the same.
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
    echo "$vendor: $name: $ran passed, $bad failed"
    if [ "$bad" -ne 0 ]; then
      echo "---- $name ended with $status ----"
      tail -n 60 "$log"
      echo "----"
    fi
    passed=$((passed + ran)) failed=$((failed + bad))
  done
}

run_tests() {
  local vendors=() filter='' vendor
  while [ $# -gt 0 ]; do
    case $1 in
      --vendor) vendors+=("${2:?--vendor needs a value}"); shift 2 ;;
      -*) echo "run test: unknown option $1" >&2; return 2 ;;
      *) filter=$1; shift ;;
    esac
  done
  [ ${#vendors[@]} -gt 0 ] || vendors=(host)
  unpack tests || return 1
  passed=0 failed=0 absent=0
  for vendor in "${vendors[@]}"; do test_vendor "$vendor" "$filter"; done
  echo "$passed passed, $failed failed"
  # A vendor that is not there is no failure; a name that no test has is one.
  [ "$failed" -eq 0 ] && [ $((passed + absent)) -gt 0 ]
}

run_demo() {
  case " $* " in
    *" --input "* | *" --input="* | *" --help "*) hip-demo "$@" ;;
    *) hip-demo --input "$here/assets/big-buck-bunny.webm" "$@" ;;
  esac
}

# run_one COMMAND FOLDER [NAME [ARGUMENTS]]: a program of a folder, or the folder's names.
run_one() {
  local command=$1 folder=$scratch/$2
  unpack "$2" || return 1
  shift 2
  if [ $# -eq 0 ]; then
    ls "$folder"
  elif [ -x "$folder/$1" ]; then
    local program=$folder/$1
    shift
    "$program" "$@"
  else
    echo "run $command: no '$1' here" >&2
    return 2
  fi
}

command=${1:-help}
[ $# -gt 0 ] && shift
case $command in
  test) run_tests "$@" ;;
  demo) run_demo "$@" ;;
  info) hip-info "$@" ;;
  bench) run_one bench bench "$@" ;;
  example) run_one example examples "$@" ;;
  gst-launch | gst-inspect) "$command-1.0" "$@" ;;
  exec) "$@" ;;
  help | --help | -h) usage ;;
  *) usage >&2; exit 2 ;;
esac
