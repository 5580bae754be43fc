#!/bin/sh
# plugins.sh BUILD SCRATCH: an image format and a text operator by plugins: found beside the program, in XRT_PLUGIN_PATH, and
# missing with a message that says what to install.
set -eu
build=$1 scratch=$2
source=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$scratch"
mkdir -p "$scratch/bin" "$scratch/plugins"
cp "$build/runtime/xrun" "$scratch/bin"
image=$source/test/fuzz/corpus/image/rgb.png

bad() {
    echo "plugins.sh: $*"
    exit 1
}
[ -f "$build/runtime/libxrt_png.so" ] || {
    echo "skipped: this build has no libpng"
    exit 77
}

echo 'graph "decode" symbols(n) (%0 "file": u8[n]) {
  %1 = image_decode(%0)
  return(%1)
} outputs("picture")' >"$scratch/decode.xir"
"$build/frontend/xcc" "$scratch/decode.xir" -q -o "$scratch/decode.neff"
{ # the file's bytes as an .npy
    printf '\223NUMPY\001\000v\000'
    printf '%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': ($(wc -c <"$image"),), }"
    cat "$image"
} >"$scratch/file.npy"

run() { "$@" "$scratch/decode.neff" "$scratch/file.npy" >"$scratch/out" 2>"$scratch/err"; }
run "$build/runtime/xrun" || bad "the plugin beside the program is not found: $(cat "$scratch/err")"
cp "$scratch/out" "$scratch/expected"
run "$scratch/bin/xrun" && bad "it decodes without a plugin"
for word in libxrt_png.so libpng16-16 XRT_PLUGIN_PATH; do
    grep -q "$word" "$scratch/err" || bad "the message lacks '$word': $(cat "$scratch/err")"
done
cp "$build/runtime/libxrt_png.so" "$scratch/plugins"
export XRT_PLUGIN_PATH="/nonexistent::$scratch/plugins"
run "$scratch/bin/xrun" || bad "XRT_PLUGIN_PATH is not used: $(cat "$scratch/err")"
cmp "$scratch/out" "$scratch/expected" || bad "another result"
echo "no library" >"$scratch/plugins/libxrt_png.so"
run "$scratch/bin/xrun" && bad "it decodes with a damaged plugin"
grep -q "libxrt_png.so, which does not load (.*plugins/libxrt_png.so" "$scratch/err" ||
    bad "the message does not say why: $(cat "$scratch/err")"
echo "plugins: found, named, missed"
