#!/bin/sh
# packages.sh BUILD SCRATCH: makes the Debian packages and unpacks them into an empty root, beside the libraries of the
# packages that they depend on and of no other: a dependency that is missing is a library that is missing. There the
# demo's model is compiled and run, and a program that was built against libxrt-dev.
set -eu
build=$1 scratch=$2
PATH=$PATH:/usr/sbin:/sbin # chroot, which Debian keeps off the path of users
source=$(cd "$(dirname "$0")/.." && pwd)
for tool in dpkg-deb dpkg-shlibdeps dpkg-query file; do
    command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
rm -rf "$scratch"
mkdir -p "$scratch"
root=$scratch/root
fail() { echo "packages: $*"; exit 1; }

"${CPACK:-cpack}" --config "$build/CPackConfig.cmake" -B "$scratch/packages" >"$scratch/cpack.log" 2>&1 ||
    { cat "$scratch/cpack.log"; exit 1; }
unpack() { # PACKAGE...: into the root
    for p; do dpkg-deb -x "$scratch/packages/${p}_"*.deb "$root"; done
}
depends() { dpkg-deb -f "$scratch/packages/${1}_"*.deb Depends; }
names() { sed 's/([^)]*)//g; s/|[^,]*//g; s/:any//g; s/,/ /g' | tr ' ' '\n' | sed '/^$/d'; }
ours() { grep -x -E 'libxrt|libxrt-dev|xcc'; }

# The libraries of packages and of those that they need.
closure() {
    todo=$* all=
    while [ -n "$todo" ]; do
        next=
        for p in $todo; do
            case " $all " in *" $p "*) continue ;; esac
            all="$all $p"
            next="$next $(dpkg-query -W -f '${Depends}, ${Pre-Depends}\n' "$p" 2>/dev/null | names | tr '\n' ' ')"
        done
        todo=$(echo $next)
    done
    echo $all
}
libraries() { # PACKAGE...
    for p; do
        dpkg-query -L "$p" 2>/dev/null | while read -r f; do
            case $f in
            *.so | *.so.*) [ ! -f "$f" ] || { mkdir -p "$root${f%/*}" && cp -n "$f" "$root$f"; } ;;
            esac
        done
    done
}
in_root() { # PROGRAM ARGUMENT...: sees the root alone
    if [ "$(id -u)" = 0 ]; then
        chroot "$root" "$@"
    else
        unshare -r chroot "$root" "$@"
    fi
}
if [ "$(id -u)" != 0 ] && ! unshare -r true 2>/dev/null; then
    echo "skipped: neither root nor user namespaces here"
    exit 77
fi

# The runtime alone runs a model and every plugin loads.
mkdir -p "$root"
unpack libxrt
# shellcheck disable=SC2046
libraries $(closure $(depends libxrt | names))
"$build/frontend/xcc" "$source/models/digits/digits.onnx" -o "$root/digits.neff"
cp "$source/models/digits/digit_7.npy" "$root"
in_root /usr/bin/xrun /digits.neff /digit_7.npy | grep -q 'best:  7 ' || fail "xrun of libxrt does not see the 7"
loader=$(find "$root" -name 'ld-linux*' | head -1)
loads() { # LIBRARY: all that it needs is in the root
    in_root "${loader#"$root"}" --list "$1" >"$scratch/list" 2>&1 && ! grep "not found" "$scratch/list" ||
        { cat "$scratch/list"; fail "$1 needs a library that no dependency brings"; }
}
for plugin in $(cd "$root" && find usr/lib -name 'libxrt_*.so'); do
    loads "/$plugin"
done
[ -z "$(find "$root/usr" -name '*.h' -o -name xcc)" ] || fail "libxrt has files of the other packages"

# A program against libxrt-dev, shared (it runs in the root, with what libxrt brings) and static.
unpack libxrt-dev
for header in xrt.h xrt.hpp xop.h; do
    [ -s "$root/usr/include/$header" ] || fail "libxrt-dev has no $header"
done
depends libxrt-dev | grep -q "libxrt (= " || fail "libxrt-dev does not depend on the libxrt of its version"
PKG_CONFIG_PATH=$(dirname "$(find "$root" -name xrt.pc)")
export PKG_CONFIG_PATH
"$source/test/readme_program" 'usage: example' >"$scratch/example.c"
# shellcheck disable=SC2046
${CC:-cc} -std=c11 "$scratch/example.c" -o "$root/example" $(pkg-config --cflags --libs xrt)
# shellcheck disable=SC2046
${CC:-cc} -std=c11 $(pkg-config --cflags xrt) "$scratch/example.c" -o "$root/example_static" \
    "$(find "$root" -name libxrt.a)" $(pkg-config --libs --static xrt | sed 's/-lxrt//')
for program in example example_static; do
    [ "$(in_root /$program /digits.neff /digit_7.npy)" = "it is a 7" ] || fail "$program does not see the 7"
done

# The compiler.
unpack xcc
depends xcc | names | ours | grep -qx libxrt || fail "xcc does not depend on libxrt"
# shellcheck disable=SC2046
libraries $(closure $(depends xcc | names))
rm "$root/digits.neff"
cp "$source/models/digits/digits.onnx" "$root"
in_root /usr/bin/xcc /digits.onnx -o /digits.neff >"$scratch/xcc.log" || fail "xcc fails"
in_root /usr/bin/xrun /digits.neff /digit_7.npy | grep -q 'best:  7 ' || fail "the model of xcc does not see the 7"
in_root /usr/bin/xdump /digits.neff --header >"$scratch/header" || fail "xdump fails"
in_root /usr/bin/xcc /digits.onnx --target trn1 --shape batch=1 -o /chip.neff
in_root /usr/bin/xsim /chip.neff >"$scratch/xsim" || fail "xsim fails"
for library in $(cd "$root" && find usr/lib -name 'libxcc*.so'); do
    loads "/$library"
done
# Nothing is in two packages.
for p in libxrt libxrt-dev xcc; do
    dpkg-deb -c "$scratch/packages/${p}_"*.deb | awk '$1 !~ /^d/ { print $6 }'
done | sort | uniq -d >"$scratch/twice"
[ ! -s "$scratch/twice" ] || { cat "$scratch/twice"; fail "files in two packages"; }
echo "unpacked and used"
