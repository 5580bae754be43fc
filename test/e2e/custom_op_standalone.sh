#!/bin/sh
# custom_op_standalone.sh BUILD SCRATCH: an operator of a library (xop.h) in a program of xcc --standalone, from sources, or
# linked as an object or a library.
. "$(dirname "$0")/common.sh"
ctc=$source/models/ctc
"$source/test/readme_program" 'xop[.]h' >ctc.c
${CC:-cc} -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -I"$source/runtime" ctc.c -o ctc.so

cat >linked.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include "ctc.h"
static float x[11 * 20 * 6];
static int64_t labels[11 * 20], count[11];
int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    void *memory = malloc(4 * CTC_CONTEXT_SIZE);
    struct ctc *m = ctc_init(memory, 4 * CTC_CONTEXT_SIZE);
    if (!f || fseek(f, 128, SEEK_SET) || fread(x, sizeof x, 1, f) != 1)
        return 2;
    if (!m || ctc_bind(m, (int64_t[]){11, 20}) || ctc_run(m, (const void *[]){x}, (void *[]){labels, count}))
        return fprintf(stderr, "%s\n", ctc_error(m)), 1;
    return fwrite(labels, sizeof labels, 1, stdout) != 1 || fwrite(count, sizeof count, 1, stdout) != 1;
}
EOF
link() { ${CC:-cc} -O1 -o linked linked.c "$@" -lm; }
{ tail -c $((11 * 20 * 8)) "$ctc/labels.npy"; tail -c $((11 * 8)) "$ctc/count.npy"; } >want.bin
gives() { ./linked "$ctc/scores.npy" >got.bin && cmp -s got.bin want.bin || failed "standalone: $1"; }
quick() { make -s -j2 -C "$1" CC="${CC:-cc}" OPT=-O1 KERNEL_OPT=-O1 >log.txt 2>&1 || failed "make of $1: $(tail -3 log.txt)"; }
"$xcc" -q "$ctc/ctc.onnx" --custom-op ctc.so --custom-op-source ctc.c --isa portable --standalone sources
quick sources
link -Isources sources/libctc.a
gives "an operator from its source"
nm -g --defined-only sources/libctc.a | awk 'NF == 3 && $3 !~ /^ctc_/ { print $3 }' >shows.txt
[ ! -s shows.txt ] || failed "standalone: libctc.a shows $(head -3 shows.txt)"
"$xcc" -q "$ctc/ctc.onnx" --custom-op ctc.so --isa portable --standalone open
quick open
${CC:-cc} -O1 -c -I"$source/runtime" ctc.c -o ctc.o
for code in ctc.o ./ctc.so; do
    link -Iopen open/libctc.a $code
    gives "linked with $code"
done
"$xcc" -q "$ctc/ctc.onnx" --custom-op ctc.so --custom-op-source ctc.c --isa portable --amalgamate --standalone one
quick one
link -Ione one/libctc.a
gives "an operator from its source, the rest one file"
sed 's/"blank: int = 0"/"blank: int = 0, more: float = 1"/' ctc.c >other.c # not what the model was compiled with
${CC:-cc} -O1 -c -I"$source/runtime" other.c -o other.o
link -Iopen open/libctc.a other.o
refuses 1 "is code of a library that is not loaded" ./linked "$ctc/scores.npy"
refuses 2 "name its library before it" "$xcc" "$ctc/ctc.onnx" --custom-op-source ctc.c --custom-op ctc.so --standalone no
refuses 2 "go with --standalone" "$xcc" "$ctc/ctc.onnx" --custom-op ctc.so --custom-op-source ctc.c -o no.neff

# ---- two libraries of one name, from sources of one name ----
mkdir -p a b
for name in a b; do
    cat >$name/op.c <<EOF
#include <xop.h>
static bool run(const struct xop_call *c)
{
    for (int64_t i = 0; i < xop_count(&c->in[0]); i++)
        ((float *)c->out[0].data)[i] = ((const float *)c->in[0].data)[i] $([ $name = a ] && echo "+ 100" || echo "* 10");
    return true;
}
static const struct xop_operator op = {
    .domain = "$name", .name = "Op", .version = 1, .operands = "x: f32[n]", .results = "y: f32[n]", .run = run};
XOP_LIBRARY(&op)
EOF
    ${CC:-cc} -std=c11 -O1 -shared -fPIC -I"$source/runtime" $name/op.c -o $name/op.so
done
cat >two.xir <<'EOF'
graph "g" (%0 "x": f32[4]) {
  %1 = custom(%0) {custom_operator="a::Op"}
  %2 = custom(%1) {custom_operator="b::Op"}
  return(%2)
} outputs("y")
EOF
cat >two.c <<'EOF'
#include <stddef.h>
#include "two.h"
static _Alignas(64) char memory[TWO_CONTEXT_SIZE];
int main(void)
{
    struct two *m = two_init(memory, sizeof memory);
    float x[4] = {1, 2, 3, 4}, y[4] = {0};
    return !m || two_run(m, (const void *[]){x}, (void *[]){y}) || y[0] != 1010 || y[3] != 1040;
}
EOF
two() { # XCC ARGUMENT...
    "$xcc" -q two.xir "$@" --auto-cast none --isa portable --amalgamate --standalone two
    make -s -j2 -C two CC="${CC:-cc}" OPT=-O0 KERNEL_OPT=-O0 >log.txt 2>&1 || failed "make of two: $(tail -3 log.txt)"
}
two --custom-op a/op.so --custom-op-source a/op.c --custom-op b/op.so --custom-op-source b/op.c
${CC:-cc} -Itwo two.c two/libtwo.a -lm -o two.out && ./two.out || failed "two libraries of one name from sources"
two --custom-op a/op.so --custom-op b/op.so
for i in 0 1; do
    grep -q "XOP_LIBRARY_NAME=xop_library_op_$i" two/two.h || failed "two.h does not say how library $i is named"
    name=$(sed -n 's/.*Operators of op[.]so [(]\(.\)::Op[)].*/\1/p' two/two.h | sed -n "$((i + 1))p")
    ${CC:-cc} -c -I"$source/runtime" -DXOP_LIBRARY_NAME=xop_library_op_$i "$name/op.c" -o two$i.o
done
${CC:-cc} -Itwo two.c two/libtwo.a two0.o two1.o -lm -o two.out && ./two.out || failed "two libraries of one name, linked"
refuses 2 "'a/op.c' and 'b/op.c' of one library have the same name" "$xcc" two.xir --custom-op b/op.so --custom-op a/op.so \
    --custom-op-source a/op.c --custom-op-source b/op.c --standalone no
finish
