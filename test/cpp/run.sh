#!/bin/sh
# run.sh BUILD SCRATCH: xrt.hpp and its example in runtime/README.md, as C++17 and C++20, by every C++ compiler that there is.
set -eu
build=$1 scratch=$2
source=$(cd "$(dirname "$0")/../.." && pwd)
rm -rf "$scratch"
mkdir -p "$scratch"
"$build/frontend/xcc" "$source/models/digits/digits.onnx" -o "$scratch/digits.neff"
"$source/test/readme_program" 'xrt[.]hpp' >"$scratch/example.cpp"
tried=0
for cxx in g++ clang++; do
    command -v $cxx >/dev/null || continue
    for standard in c++17 c++20; do
        for program in "$source/test/cpp/wrapper.cpp" "$scratch/example.cpp"; do
            name=$scratch/$(basename "$program" .cpp)
            $cxx -std=$standard -Wall -Wextra -Wshadow -Werror -I"$source/runtime" "$program" -o "$name" \
                -L"$build/runtime" -lxrt -Wl,-rpath,"$build/runtime"
        done
        "$scratch/wrapper" "$scratch/digits.neff" "$source/models/digits/digit_7.npy"
        [ "$("$scratch/example" "$scratch/digits.neff" | wc -l)" = 10 ]
        if "$scratch/example" "$scratch/example.cpp" 2>"$scratch/error"; then
            echo "the example accepts a file that is no archive"
            exit 1
        fi
        grep -q 'example\.cpp' "$scratch/error"
        tried=$((tried + 1))
    done
done
[ $tried != 0 ] || { echo "skipped: there is no C++ compiler"; exit 77; }
