#!/bin/sh
# xdump's views, its exit statuses, and the opcode table of FORMAT.md.
# usage: xdump.sh XDUMP XCC SOURCE_DIR
set -eu
xdump=$1 xcc=$2 source=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fails=0
bad() { echo "FAILED: $*"; fails=1; }
status() { # expected command...
    want=$1; shift
    got=0; "$@" >"$dir/out" 2>"$dir/err" || got=$?
    [ "$got" = "$want" ] || { bad "$* gave status $got, expected $want"; cat "$dir/err"; }
}

"$xdump" --opcodes >"$dir/opcodes"
sed -n '/^| opcode /,$p' "$source/neff/FORMAT.md" | diff "$dir/opcodes" - || bad "FORMAT.md section 11 is stale: replace its table by the output of xdump --opcodes"

m=$source/models/digits/digits.onnx
"$xcc" "$m" -q -o "$dir/a.neff"
"$xcc" "$m" -q -o "$dir/b.neff"
cmp "$dir/a.neff" "$dir/b.neff" || bad "compiling twice gives different bytes"
"$xcc" "$m" -q --auto-cast none -o "$dir/c.neff"

status 0 "$xdump" "$dir/a.neff"
grep -q '^inputs *image f32\[batch,1,28,28\]' "$dir/out" || bad "summary lacks the input"
grep -q '^movement .* in kernels (100.0%), 0 B in calls' "$dir/out" || bad "summary lacks the share of bytes"
for view in --header --info --asm --plan --json; do status 0 "$xdump" "$dir/a.neff" $view; done
status 0 "$xdump" "$dir/a.neff" --header
grep -q 'matches the contents' "$dir/out" || bad "hash does not match"
status 0 "$xdump" "$dir/a.neff" --plan --dim batch=4
grep -q 'batch=4' "$dir/out" || bad "--dim has no effect"
status 0 "$xdump" "$dir/a.neff" --diff "$dir/b.neff"
status 3 "$xdump" "$dir/a.neff" --diff "$dir/c.neff"
[ -s "$dir/out" ] || bad "--diff prints nothing"
status 0 "$xdump" "$dir/a.neff" --extract "$dir/x"
[ -s "$dir/x/sg00/sp.bin" ] || bad "--extract lacks sp.bin"
ls "$dir/x/constants" | grep -q '\.npy$' || bad "--extract lacks constants"
tail -c +1025 "$dir/a.neff" | tar t | grep -qx 'sg00/def.json' || bad "tar does not list the members"
tail -c +1025 "$dir/a.neff" | tar xO sg00/sp.bin | cmp - "$dir/x/sg00/sp.bin" || bad "extracted member differs"

status 2 "$xdump"
status 2 "$xdump" "$dir/a.neff" --nonsense
status 2 "$xdump" "$dir/a.neff" --dim batch
status 2 "$xdump" "$dir/a.neff" --extract
status 1 "$xdump" "$dir/missing.neff"
status 1 "$xdump" "$m"
status 1 "$xdump" "$dir/a.neff" --dim nothing=3
head -c 5000 "$dir/a.neff" >"$dir/short.neff"
status 1 "$xdump" "$dir/short.neff"
grep -q 'truncated' "$dir/err" || bad "no word of truncation"
exit $fails
