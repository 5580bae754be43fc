#!/bin/sh
# install.sh BUILD SCRATCH: installs into a folder and builds the C program of runtime/README.md against what is there, by
# the commands and the CMake project of that file, and with the static library. It must see the 7 in digit_7.npy.
set -eu
build=$1 scratch=$2
source=$(cd "$(dirname "$0")/.." && pwd)
rm -rf "$scratch"
mkdir -p "$scratch/cmake"
prefix=$scratch/prefix

# A command of runtime/README.md: the only indented line with the pattern, for this build and this folder.
readme_command() { # PATTERN
    n=$(grep -c "^    .*$1" "$source/runtime/README.md")
    [ "$n" -eq 1 ] || { echo "runtime/README.md has $n commands with '$1'" >&2; exit 1; }
    sed -n "s|^    \(.*$1.*\)|\1|p" "$source/runtime/README.md" | sed "s|/usr/local|$prefix|; s|--install build |--install $build |"
}
cmake_install=$(readme_command 'cmake --install')
compile_example=$(readme_command 'cc example[.]c')
eval "$cmake_install" >"$scratch/install.log"
library=$(dirname "$(find "$prefix" -name xrt.pc)")
export PKG_CONFIG_PATH="$library" LD_LIBRARY_PATH="${library%/pkgconfig}"
example=$scratch/example.c
"$source/test/readme_program" 'usage: example' >"$example"
"$source/test/readme_program" 'xrt_open."f[.]neff"' >"$scratch/exported.c" # runs what JAX exported
"$source/test/readme_program" 'xop[.]h' >"$scratch/operator.c"

check() { # PROGRAM
    answer=$("$1" "$scratch/digits.neff" "$source/models/digits/digit_7.npy")
    [ "$answer" = "it is a 7" ] || { echo "$1 answers '$answer', expected 'it is a 7'"; exit 1; }
    if "$1" "$example" "$source/models/digits/digit_7.npy" 2>"$scratch/error"; then
        echo "$1 accepts a file that is no archive"
        exit 1
    fi
    grep -q "example.c" "$scratch/error"
}

"$prefix/bin/xcc" "$source/models/digits/digits.onnx" -o "$scratch/digits.neff"
"$prefix/bin/xrun" "$scratch/digits.neff" "$source/models/digits/digit_7.npy" | grep -q 'best:  7 '
"$prefix/bin/xdump" "$scratch/digits.neff" --header >"$scratch/header"

cc=${CC:-cc}
flags="-std=c11 -Wall -Wextra -Werror"
(
    cd "$scratch"
    cc() { command $cc $flags "$@"; }
    eval "$compile_example"
)
check "$scratch/example"
# shellcheck disable=SC2046,SC2086
$cc $flags "$scratch/exported.c" -o "$scratch/exported" $(pkg-config --cflags --libs xrt)
# shellcheck disable=SC2046,SC2086
$cc $flags $(pkg-config --cflags xrt) "$example" -o "$scratch/static" "$LD_LIBRARY_PATH/libxrt.a" \
    $(pkg-config --libs --static xrt | sed 's/-lxrt//')
check "$scratch/static"

# An operator of the user's own, with what is installed.
# shellcheck disable=SC2046,SC2086
$cc $flags -shared -fPIC "$scratch/operator.c" -o "$scratch/operator.so" $(pkg-config --cflags xrt)
"$prefix/bin/xcc" "$source/models/ctc/ctc.onnx" --custom-op "$scratch/operator.so" -o "$scratch/ctc.neff"
"$prefix/bin/xrun" "$scratch/ctc.neff" "$source/models/ctc/scores.npy" --allow-code --expect "$source/models/ctc/labels.npy" \
    >"$scratch/ctc.txt"

# The CMake project of runtime/README.md, in a folder with nothing but the program.
mkdir "$scratch/consumer"
cp "$example" "$scratch/consumer"
"$source/test/readme_program" 'find_package.xrt' >"$scratch/consumer/CMakeLists.txt"
cmake -S "$scratch/consumer" -B "$scratch/consumer/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    >"$scratch/consumer.log"
cmake --build "$scratch/consumer/build" >>"$scratch/consumer.log"
check "$scratch/consumer/build/example"

cmake -S "$source/test/install" -B "$scratch/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DEXAMPLE="$example" \
    -DCMAKE_C_COMPILER="$cc" >"$scratch/cmake.log"
cmake --build "$scratch/cmake" >>"$scratch/cmake.log"
check "$scratch/cmake/example_xrt"
check "$scratch/cmake/example_xrt_static"
[ "$("$scratch/cmake/kernel")" = "max |y - 2 x| = 0" ]

# libxcc: a kernel built in C, run by libxrt.
# shellcheck disable=SC2046,SC2086
$cc $flags "$source/test/install/kernel.c" -o "$scratch/kernel" $(pkg-config --cflags --libs xcc xrt) -lm
[ "$("$scratch/kernel")" = "max |y - 2 x| = 0" ] || { echo "the program with a kernel fails"; exit 1; }
if nm -D --defined-only "$LD_LIBRARY_PATH/libxcc.so" | awk '{ print $3 }' | grep -v '^xcc_'; then
    echo "libxcc shows names that are not its own"
    exit 1
fi

# The library shows its own functions only and wants nothing of the compiler.
for l in "$LD_LIBRARY_PATH/libxrt.so -D" "$LD_LIBRARY_PATH/libxrt.a -g"; do
    # shellcheck disable=SC2086
    if nm --defined-only $l | awk '$3 != "" { print $3 }' | grep -v '^xrt_'; then
        echo "libxrt shows names that are not its own"
        exit 1
    fi
done
# It needs the C library, nothing else.
if ldd "$LD_LIBRARY_PATH/libxrt.so" | awk '{ print $1 }' | grep -v -E '^(linux-vdso|libc|libm)\.so|/ld-linux'; then
    echo "libxrt needs more than libc and libm"
    exit 1
fi
echo "installed and used"
