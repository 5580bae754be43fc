#!/bin/sh
# bindings.sh BUILD SCRATCH: models/examples, programs in Go and Rust that use libxrt, by those compilers that there are.
# They see the 7 in digit_7.npy, and say what xrt_error says.
set -eu
build=$1 scratch=$2
source=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$scratch"
mkdir -p "$scratch"
"$build/frontend/xcc" -q "$source/models/digits/digits.onnx" -o "$scratch/digits.neff"
picture=$source/models/digits/digit_7.npy
library=$build/runtime

check() { # PROGRAM
    said=$("$1" "$scratch/digits.neff" "$picture")
    [ "$said" = "it is a 7" ] || { echo "$1 says '$said', expected 'it is a 7'"; exit 1; }
    for wrong in "$picture $picture|not an archive" "$scratch/digits.neff $0|."; do
        # shellcheck disable=SC2086
        if "$1" ${wrong%|*} >"$scratch/said" 2>"$scratch/error"; then
            echo "$1 ${wrong%|*} succeeds"
            exit 1
        fi
        grep -q "${wrong#*|}" "$scratch/error" || { echo "$1 says: $(cat "$scratch/error")"; exit 1; }
    done
}

tried=
if command -v go >/dev/null && [ "$(go env CGO_ENABLED)" = 1 ]; then
    CGO_CFLAGS="-I$source/runtime" CGO_LDFLAGS="-L$library -Wl,-rpath,$library" GOCACHE="$scratch/cache" GOFLAGS=-mod=mod \
        go build -o "$scratch/digits_go" "$source/models/examples/digits.go"
    check "$scratch/digits_go"
    rm -rf "$scratch/cache"
    tried="$tried Go"
fi
if command -v rustc >/dev/null; then
    rustc --edition 2021 -D warnings -L "$library" -C link-arg=-Wl,-rpath,"$library" -o "$scratch/digits_rs" \
        "$source/models/examples/digits.rs"
    check "$scratch/digits_rs"
    tried="$tried Rust"
fi
[ -n "$tried" ] || { echo "SKIP: there is no compiler for Go or Rust"; exit 77; }
echo "tried:$tried"
