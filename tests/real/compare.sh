#!/usr/bin/env bash
# Downloads the archives named in tests/real/archives with the ordinary clients (cargo, npm, pip, apt), lists and unpacks
# each with durastar, GNU tar and bsdtar, and prints a table of what is equal and what is not.
#
#   tests/real/compare.sh DIRECTORY        (as root, so that owners count; what is in DIRECTORY already is not fetched)
#
# Names, kinds, modes, owners, sizes, times, link counts, link targets and contents are compared. DURASTAR names the
# program. Source packages need `deb-src` lines in the lists of apt.
set -euo pipefail

here=$(dirname "$(realpath "$0")")
durastar=$(realpath "${DURASTAR:-target/release/durastar}")
mkdir -p "$1/archives" "$1/fetched"
cd "$1"
export LC_ALL=C.UTF-8 TZ=UTC

fetch_crate() {
  mkdir -p "fetched/crate-$1/src"
  printf '[package]\nname = "fetch"\nversion = "0.0.0"\n[dependencies]\n%s = "=%s"\n' "$1" "$2" \
    >"fetched/crate-$1/Cargo.toml"
  : >"fetched/crate-$1/src/lib.rs"
  cargo fetch --quiet --manifest-path "fetched/crate-$1/Cargo.toml"
  cp "${CARGO_HOME:-$HOME/.cargo}"/registry/cache/*/"$1-$2.crate" archives/
}
fetch_npm() { npm pack --silent --pack-destination archives "$1@$2" >/dev/null; }
fetch_sdist() { pip download --quiet --no-deps --no-binary "$1" --dest archives "$1==$2"; }
fetch_source() {
  mkdir -p "fetched/$1"
  (cd "fetched/$1" && apt-get -qq -o APT::Sandbox::User=root source --download-only "$1")
  find "fetched/$1" -name '*.tar.*' ! -name '*.asc' -exec cp {} archives/ ';'
}
fetch_deb() {
  mkdir -p "fetched/$1"
  (cd "fetched/$1" && apt-get -qq -o APT::Sandbox::User=root download "$1" && ar x "$1"_*.deb)
  for member in "fetched/$1"/*.tar.*; do
    cp "$member" "archives/$(basename "$(echo "fetched/$1/$1"_*.deb)" .deb).deb.$(basename "$member")"
  done
}

while read -r from name version; do
  case $from in '#'* | '') continue ;; esac
  [ -e "fetched/$from-$name.done" ] && continue
  if "fetch_$from" "$name" "$version" </dev/null >&2; then
    : >"fetched/$from-$name.done"
  else
    echo "could not be fetched: $from $name" >&2
  fi
done <"$here/archives"

# One line an object, sorted by name: name, kind, mode, owner, size, time, number of names, target, first name, contents.
# A directory that is no member was made with the mode and at the time that the making gave it, so these are left out.
tree() {
  (
    cd "$1"
    find . -mindepth 1 -printf '%P\t%y\t%m\t%U:%G\t%s\t%T@\t%n\t%l\t%i\n' | sort |
      awk -F '\t' -v OFS='\t' '{ if ($2 == "d") $5 = $7 = 0; if (!($9 in first)) first[$9] = $1; $9 = first[$9]; print }' \
        >../objects
    find . -type f -print0 | sort -z | xargs -0r sha256sum | sed 's/^\(\S*\)  \.\/\(.*\)$/\2\t\1/' >../sums
  )
  awk -F '\t' -v OFS='\t' '
    FILENAME == "names" { member[$0] = 1; next }
    FILENAME == "sums" { sum[$1] = $2; next }
    $2 == "d" && !($1 in member) { $3 = $4 = $6 = "-" }
    { print $0, sum[$1] }' names sums objects
}

# What differs between two such lists, as words: "time of 3 directories".
differences() {
  awk -F '\t' '
    BEGIN { split("name kind mode owner size time names target link contents", what, " ")
            many["f"] = "files"; many["d"] = "directories"; many["l"] = "links" }
    NR == FNR { line[$1] = $0; next }
    !($1 in line) { count["only one has " ($2 in many ? many[$2] : "others")]++; next }
    { split(line[$1], other, "\t"); delete line[$1]
      for (at = 2; at <= 10; at++)
        if ($at != other[at]) count[what[at] " of " ($2 in many ? many[$2] : "others")]++ }
    END { for (name in line) count["only one has objects"]++
          for (text in count) printf "%s%s: %d", (sep++ ? ", " : ""), text, count[text] }' "$1" "$2"
}

# As GNU tar and bsdtar are called; each in a fresh directory.
unpack() {
  rm -rf out
  mkdir out
  "${@:2}" -xpf "archives/$archive" -C out 2>"$1.err" || echo "exit status $?" >>"$1.err"
  tree out >"$1.tree"
}

echo "| archive | format | members | listed as GNU tar | tree as GNU tar's | tree as bsdtar's | differences |"
echo "|---|---|--:|---|---|---|---|"
for path in archives/*; do
  archive=$(basename "$path")
  format=$( (exec -a star "$durastar" -print-artype "f=$path") 2>/dev/null | sed "s/^$(printf %s "$path" | sed 's/[.[\*^$/]/\\&/g'): //" |
    sed 's/ compressed / /; s/ archive\.$//' || true)
  tar -tvf "$path" >gnu.list 2>gnu.list.err || echo "exit status $?" >>gnu.list
  (exec -a tar "$durastar" -tvf "$path") >here.list 2>here.list.err || echo "exit status $?" >>here.list
  tar -tf "$path" --quoting-style=literal 2>/dev/null | sed 's/^\(\.\/\)*//; s/\/*$//' >names
  listed=no
  cmp -s gnu.list here.list && listed=yes
  more=$(($(wc -l <gnu.list.err) - $(wc -l <here.list.err)))
  unpack gnu tar
  unpack bsd bsdtar
  unpack here "$durastar"
  gnu=$(differences gnu.tree here.tree)
  bsd=$(differences bsd.tree here.tree)
  said=$(paste -sd ' ' here.err)
  echo "| $archive | $format | $(wc -l <here.list) | $listed | $([ -z "$gnu" ] && echo yes || echo no) |" \
    "$([ -z "$bsd" ] && echo yes || echo no) | ${gnu:+GNU tar: $gnu. }${bsd:+bsdtar: $bsd. }${said:+said: $said. }$([ "$more" -eq 0 ] || echo "GNU tar warns of unknown keywords: $more.") |"
done
rm -rf out
