#!/usr/bin/env bash
# Times the unpacking of one archive by durastar in each mode and by other tars, side by side.
#
#   tests/bench/unpack.sh ARCHIVE [RUNS] [FILE-SYSTEM...]        (as root; default: 5 runs, ext4)
#
# Every run gets a fresh file system on a loop device, since files made soon after many were deleted are slower; tools
# take turns within each round; the archive is read once before, so that it is in the page cache. Peers that are not
# installed are left out by name. DURASTAR names the binary to measure.
set -euo pipefail

archive=$(realpath "$1")
runs=${2:-5}
shift $(($# < 2 ? $# : 2))
systems=${*:-ext4}
durastar=$(realpath "${DURASTAR:-target/release/durastar}")
size_mib=$((($(stat -c %s "$archive") >> 20) * 3 + 2048))
scratch=$(mktemp -d)
mount=$scratch/mount
mkdir "$mount"
trap 'mountpoint -q "$mount" && umount "$mount"; rm -rf "$scratch"' EXIT

names=() commands=()
tool() { names+=("$1"); commands+=("$2"); }
for mode in none batch group each; do
  tool "durastar --sync=$mode" "'$durastar' --sync=$mode -xf '$archive' -C '$mount'"
done
[ -n "${WITH_JOBS_1:-}" ] && tool "durastar --sync=each --jobs=1" "'$durastar' --sync=each --jobs=1 -xf '$archive' -C '$mount'"
[ -n "${WITH_JOBS_1:-}" ] && tool "durastar --sync=group --jobs=1" "'$durastar' --sync=group --jobs=1 -xf '$archive' -C '$mount'"
if command -v tar >/dev/null; then
  tool "GNU tar" "tar -xf '$archive' -C '$mount'"
  tool "GNU tar, sync -f" "tar -xf '$archive' -C '$mount' && sync -f '$mount'"
else
  echo "left out: GNU tar (not installed)"
fi
if command -v bsdtar >/dev/null; then
  tool "bsdtar" "bsdtar -xf '$archive' -C '$mount'"
  tool "bsdtar, sync -f" "bsdtar -xf '$archive' -C '$mount' && sync -f '$mount'"
else
  echo "left out: bsdtar (not installed)"
fi
if command -v star >/dev/null; then
  tool "star, fsync each" "star -x -U -xdir f='$archive' -C '$mount'"
else
  echo "left out: star (not installed)"
fi

echo "$(date -u +%F), $(nproc) cores, $(uname -sr), $(basename "$archive"), $(stat -c %s "$archive") bytes, $runs runs each"
for system in $systems; do
  image=$scratch/image.$system
  for round in $(seq "$runs"); do
    for index in "${!names[@]}"; do
      rm -f "$image"
      truncate -s "${size_mib}M" "$image"
      "mkfs.$system" -q "$image" 2>/dev/null || "mkfs.$system" -q -f "$image"
      mount -o loop "$image" "$mount"
      cat "$archive" >/dev/null
      sync
      start=$(date +%s.%N)
      bash -c "${commands[$index]}"
      end=$(date +%s.%N)
      umount "$mount"
      echo "$start $end" | awk '{ printf "%.3f\n", $2 - $1 }' >>"$scratch/$system.$index"
    done
    echo "$system: round $round of $runs" >&2
  done
  echo
  echo "| $system | median s | min | max |"
  echo "|---|---|---|---|"
  for index in "${!names[@]}"; do
    sort -n "$scratch/$system.$index" | awk -v name="${names[$index]}" '
      { t[NR] = $1 }
      END { m = NR % 2 ? t[(NR + 1) / 2] : (t[NR / 2] + t[NR / 2 + 1]) / 2
            printf "| %s | %.2f | %.2f | %.2f |\n", name, m, t[1], t[NR] }'
  done
done
