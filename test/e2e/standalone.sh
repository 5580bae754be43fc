#!/bin/sh
# standalone.sh BUILD SCRATCH: models as C sources (xcc --standalone). README's program, from README
# alone; the bits of xrun; open dimensions; what the library asks of the system; refusals.
. "$(dirname "$0")/common.sh"
cc=${CC:-cc}
make() { command make -j2 -s OPT=-O1 KERNEL_OPT=-O1 CC="$cc" "$@"; }

# ---- README's program ----
"$source/test/readme_program" '"digits[.]h"' >picture.c
"$xcc" "$source/models/digits/digits.onnx" --shape batch=1 --isa portable --standalone c
make -C c || failed "make"
$cc -std=c11 -Wall -Wextra -Werror -o picture picture.c -Ic c/libdigits.a -lm
./picture "$source/models/digits/digit_7.npy" >said.txt
grep -qx 'it is a 7' said.txt || failed "README's program says $(cat said.txt)"

# Memory, files, environment and threads are not asked for.
nm -u c/libdigits.a | awk '{ print $2 }' >asks.txt
for name in malloc calloc realloc free aligned_alloc posix_memalign mmap open fopen getenv pthread_create exit \
    clock_gettime; do
    ! grep -qx "$name" asks.txt || failed "libdigits.a asks for $name"
done
# No names but those of digits.h.
nm -g --defined-only c/libdigits.a | awk 'NF == 3 && $3 !~ /^digits_/ { print $3 }' >shows.txt
[ ! -s shows.txt ] || failed "libdigits.a shows $(head -3 shows.txt)"

# ---- the bits of xrun; sizes that are open ----
cat >batch.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include "digits.h"
static float x[64 * 784], y[64 * 10];
static void make_inputs(void)
{
    for (int i = 0; i < 64 * 784; i++)
        x[i] = (float)((i * 7919u) % 255) / 255;
}
static int write_inputs(int n)
{
    char header[119];
    make_inputs();
    snprintf(header, sizeof header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 1, 28, 28), }", n);
    printf("%cNUMPY%c%c%c%c%-117s\n", 0x93, 1, 0, 118, 0, header);
    return fwrite(x, 784 * 4, n, stdout) != (size_t)n;
}
/* batch SIZE FIRST SECOND: in so much memory runs with these batches, writes the second one's results. */
int main(int argc, char **argv)
{
    if (argc == 3) /* batch npy N: the inputs */
        return write_inputs(atoi(argv[2]));
    size_t size = argc == 4 ? strtoull(argv[1], NULL, 10) : 0;
    char *memory = malloc(size + 1);
    struct digits *m = digits_init(memory + 1, size); /* of no alignment */
    make_inputs();
    for (int i = 2; i < 4; i++)
        if (!m || digits_bind(m, (int64_t[]){atoi(argv[i])}) ||
            digits_run(m, (const void *[]){x}, (void *[]){y + 1}) ||
            digits_run(m, (const void *[]){x}, (void *[]){y}))
            return fprintf(stderr, "%s\n", digits_error(m)), 1;
    return fwrite(y, 1, digits_output_bytes(m, 0), stdout) == 0;
}
EOF
"$xcc" "$source/models/digits/digits.onnx" --auto-cast none --isa portable --standalone open -o open.neff
make -C open || failed "make"
$cc -o batch batch.c -Iopen open/libdigits.a -lm
size=$(awk '/define DIGITS_CONTEXT_SIZE/ { print $3 }' open/digits.h)
for batches in "1 8" "8 1" "5 3"; do
    # shellcheck disable=SC2086
    ./batch "$size" $batches >out.bin || failed "batches $batches"
    n=${batches#* }
    ./batch npy "$n" >in.npy
    XCC_KERNELS=portable "$xrun" open.neff in.npy -o out >/dev/null
    tail -c "$((n * 40))" out/probabilities.npy | cmp -s - out.bin || failed "other bits than xrun's: batches $batches"
done
refuses 1 'memory is too small' ./batch 2000 1 1
refuses 1 'memory is too small' ./batch 20000 1 1
refuses 1 "" ./batch "$size" 1 -3

# Products with an open number of columns have blocks whatever is left of them: also a last vector that is less than half,
# or more than half, behind whole ones. Without those they ran one row and one vector at a time.
printf 'graph "p" symbols(n) (%%0 "x": f32[20,64], %%1 "y": f32[64,n]) {\n  %%2 = matmul(%%0, %%1)\n  return(%%2)\n} outputs("z")\n' >columns.xir
"$xcc" -q columns.xir --auto-cast none --isa avx512 --standalone columns -o columns.neff
for vectors in 1 2 3 4; do
    for name in "f32_block_7x$vectors" "PART_f32_$vectors"; do
        grep -qx "#define USE_GEMM_16_$name 1" columns/columns_use.h || failed "the program of open columns has no $name"
    done
done

# ---- compiled for size: the same bits, in fewer bytes ----
code_of() { size "$1" | awk 'NR == 2 { print $1 + $2 }'; }
large=$(code_of open/digits_all.o)
make -C open clean
make -C open OPT=-Os KERNEL_OPT=-Os || failed "make OPT=-Os"
$cc -o small batch.c -Iopen open/libdigits.a -lm
./small "$size" 1 3 >out_small.bin && ./batch "$size" 1 3 >out.bin && cmp -s out.bin out_small.bin ||
    failed "compiled for size, other bits"
code=$(code_of open/digits_all.o)
[ "$code" -lt "$large" ] || failed "compiled for size $code bytes, otherwise $large"
! nm -u open/digits_all.o | grep -wE 'malloc|calloc|realloc|free|qsort' || failed "the program of open sizes allocates"
constants=$(nm -S open/digits_all.o | awk '$4 == "constants" { print $2 }')
code=$((code - 0x$constants))
[ "$code" -lt 145000 ] || failed "compiled for size the code has $code bytes, more than 145000"
# It has no loops and branches; how many images there are changes no tile.
for name in quick_run plan_control stream_insns convert_moving multiply_dot exec_activation; do
    ! nm open/digits_all.o | grep -qE " $name(\\.|$)" || failed "the program of open sizes has $name"
done

# ---- sizes that are known: the plan is in the sources, and nothing that would make one ----
cat >planned.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "digits.h"
/* planned SIZE: runs of the made-up image in so much memory of no alignment, to memory with and without one. */
int main(int argc, char **argv)
{
    static float x[784];
    static char y[44] __attribute__((aligned(16))), z[44] __attribute__((aligned(16)));
    int64_t dims[12];
    size_t size = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
    char *memory = malloc(size + 1);
    struct digits *m = digits_init(memory + 1, size);
    for (int i = 0; i < 784; i++)
        x[i] = (float)((i * 7919u) % 255) / 255;
    if (!m || digits_output_dims(m, 0, dims) != -1 || digits_run(m, (const void *[]){x}, (void *[]){y}) ||
        digits_run(m, (const void *[]){x}, (void *[]){NULL}) ||
        digits_run(m, (const void *[]){x}, (void *[]){z + 4}) || memcmp(y, z + 4, 40) ||
        digits_output_bytes(m, 0) != 40 || digits_output_dims(m, 0, dims) != 2 || dims[0] != 1 || dims[1] != 10)
        return fprintf(stderr, "%s\n", digits_error(m)), 1;
    if (!digits_run(m, (const void *[]){NULL}, (void *[]){y}) || strcmp(digits_error(m), "input 0 is NULL"))
        return 3;
    return fwrite(y, 1, 40, stdout) != 40;
}
EOF
for sets in portable,avx512 portable; do # of the last one the program is made
    for to in first fixed; do
        "$xcc" -q "$source/models/digits/digits.onnx" --shape batch=1 --isa $sets --standalone $to -o fixed.neff
    done
    diff -r first fixed >/dev/null || failed "the same model and flags give other sources the second time"
done
make -C fixed OPT=-Os KERNEL_OPT=-Os || failed "make of fixed sizes"
$cc -o planned planned.c -Ifixed fixed/libdigits.a -lm
size=$(echo DIGITS_CONTEXT_SIZE | $cc -E -P -include fixed/digits.h - | tail -1)
./planned "$size" >out.bin || failed "fixed sizes: status $?"
./batch npy 1 >in.npy
XCC_KERNELS=portable "$xrun" fixed.neff in.npy -o out >/dev/null
tail -c 40 out/probabilities.npy | cmp -s - out.bin || failed "fixed sizes: other bits than xrun's"
for less in 200 5000 $((size - 128)); do
    refuses 1 'memory is too small' ./planned $less
done
# Nor what only instructions need that products do on the way, and forms of instructions that it has not.
for name in bind_kernel model_new code_whole_program plan_memory dim_eval prepare_matmul exec_activation \
    activation_tile_relu run_steps convert_moving pack_stationary multiply_dot; do
    ! nm fixed/digits_all.o | grep -qE " $name(\\.|$)" || failed "the program of fixed sizes has $name"
done
constants=$(nm -S fixed/digits_all.o | awk '$4 == "constants" { print $2 }')
code=$(($(code_of fixed/digits_all.o) - 0x$constants))
[ "$code" -lt 36000 ] || failed "of fixed sizes the code has $code bytes, more than 36000"

# ---- compiled for speed: the blocks of products that its tiles have, and no others; without them the same bits ----
cp -r fixed without
command make -j2 -s -C fixed clean
traps='{ print } /^ONE_COPY void run_.*_apart/ { f = 1 } f && /^{/ { print "    __builtin_trap();"; f = 0 }'
awk "$traps" fixed/xrt/runtime/kernels/gemm.inc >gemm.inc && mv gemm.inc fixed/xrt/runtime/kernels
command make -j2 -s -C fixed CC="$cc" || failed "make as the Makefile has it"
grep -v GEMM_4_ fixed/digits_use.h >without/digits_use.h
make -C without clean
make -C without || failed "make without blocks"
for to in fixed without; do
    $cc -o blocks planned.c -I$to $to/libdigits.a -lm
    ./blocks "$(echo DIGITS_CONTEXT_SIZE | $cc -E -P -include $to/digits.h - | tail -1)" >blocks.bin ||
        failed "$to: status $?"
    cmp -s blocks.bin out.bin || failed "$to: other bits"
done
# Of one file too, whose functions have other names.
"$xcc" -q "$source/models/digits/digits.onnx" --shape batch=1 --isa portable --amalgamate --standalone whole
awk '{ print } /^ONE_COPY void .*run_.*_apart/ { f = 1 } f && /^{/ { print "    __builtin_trap();"; f = 0 }' whole/digits.c >whole.c
[ "$(diff whole/digits.c whole.c | grep -c builtin_trap)" = 2 ] || failed "one file has no traps"
$cc -O2 -w -o whole_planned planned.c whole.c -Iwhole -lm
./whole_planned "$(echo DIGITS_CONTEXT_SIZE | $cc -E -P -include whole/digits.h - | tail -1)" >whole.bin ||
    failed "one file: tiles run one row or vector at a time, status $?"
cmp -s whole.bin out.bin || failed "one file: other bits"
code=$(($(code_of fixed/digits_all.o) - 0x$constants))
[ "$code" -lt 60000 ] || failed "compiled for speed the code has $code bytes, more than 60000"

# ---- whatever the user's flags are: more instructions, other arithmetic, warnings, link-time optimisation ----
make -C fixed clean
make -C fixed CFLAGS="-march=native -ffast-math -flto -Wall -Wextra -Wpedantic -Werror" || failed "make with flags of the user's"
$cc -o blocks planned.c -Ifixed fixed/libdigits.a -lm
./blocks "$size" >blocks.bin || failed "flags of the user's: status $?"
cmp -s blocks.bin out.bin || failed "flags of the user's: other bits"

# ---- the unit for matrices, where this CPU has it: xrun's bits, which are others than those without it ----
if grep -qw amx_bf16 /proc/cpuinfo 2>/dev/null; then
    "$xcc" -q "$source/models/digits/digits.onnx" --shape batch=1 --isa amx --standalone unit -o unit.neff
    make -C unit OPT=-O1 KERNEL_OPT=-O1 || failed "make with a unit for matrices"
    $cc -o unit_planned planned.c -Iunit unit/libdigits.a -lm
    ./unit_planned "$(echo DIGITS_CONTEXT_SIZE | $cc -E -P -include unit/digits.h - | tail -1)" >unit.bin ||
        failed "the unit for matrices: status $?"
    XCC_KERNELS=amx "$xrun" unit.neff in.npy -o out >/dev/null
    tail -c 40 out/probabilities.npy | cmp -s - unit.bin || failed "the unit for matrices: other bits than xrun's"
    ! cmp -s unit.bin out.bin || failed "the unit for matrices: it was not used"
fi

# ---- one file: compiles alone without a warning, shows the header's names alone, and has xrun's bits ----
strictly="-Wall -Wextra -Wpedantic -Werror"
cp "$source/models/digits/digits.onnx" second.onnx
for model in "$source/models/digits/digits.onnx" second.onnx; do
    "$xcc" -q "$model" --shape batch=1 --isa portable,avx2 --amalgamate --standalone "one_$(basename "$model" .onnx)" -o one.neff
done
for std in c99 c11; do
    # shellcheck disable=SC2086
    $cc -std=$std -O1 $strictly -Ione_digits -c one_digits/digits.c -o digits.o || failed "one file, -std=$std"
done
$cc -O1 -Ione_second -c one_second/second.c -o second.o || failed "one file"
"$xcc" -q "$source/models/digits/digits.onnx" --shape batch=1 --auto-cast none --amalgamate --standalone one_all
# shellcheck disable=SC2086
$cc -O0 $strictly -Ione_all -c one_all/digits.c -o all.o || failed "one file with every instruction set"
for object in digits.o second.o; do
    nm -g --defined-only $object | awk -v name="${object%.o}_" 'NF == 3 && index($3, name) != 1 { print $3 }' >shows.txt
    [ ! -s shows.txt ] || failed "one file: $object shows $(head -3 shows.txt)"
done
! nm -u digits.o | grep -qwE 'malloc|calloc|fopen|getenv|pthread_create' || failed "one file asks for memory, files or threads"
cat >both.c <<'EOF'
#include "digits.h"
#include "second.h"
int second(void);
int second(void)
{
    static char memory[SECOND_CONTEXT_SIZE];
    return second_init(memory, sizeof memory) == 0;
}
EOF
# shellcheck disable=SC2086
$cc -std=c99 $strictly -Ione_digits -Ione_second -c both.c -o both.o || failed "headers as C99"
if command -v c++ >/dev/null; then
    echo '#include "digits.h"' >header.cpp
    # shellcheck disable=SC2086
    c++ -std=c++17 $strictly -Ione_digits -fsyntax-only header.cpp || failed "header as C++"
fi
$cc -o planned_one planned.c both.o digits.o second.o -Ione_digits -lm || failed "two models of one file each in a program"
size=$(echo DIGITS_CONTEXT_SIZE | $cc -E -P -include one_digits/digits.h - | tail -1)
./planned_one "$size" >out.bin || failed "one file: status $?"
XCC_KERNELS=$(grep -qw avx2 /proc/cpuinfo && echo avx2 || echo portable) "$xrun" one.neff in.npy -o out >/dev/null
tail -c 40 out/probabilities.npy | cmp -s - out.bin || failed "one file: other bits than xrun's"
"$xcc" -q "$source/models/digits/digits.onnx" --shape batch=1 --isa portable,avx2 --amalgamate --standalone one_again
diff -r one_again one_digits >/dev/null || failed "the same model and flags give another file"
make -C one_digits || failed "make of one file"
[ -e one_digits/libdigits.a ] && [ ! -e one_digits/xrt ] || failed "one file: $(ls one_digits)"

# ---- README's lines for CMake: the folder that make builds, and one file ----
mkdir project
{ echo 'cmake_minimum_required(VERSION 3.18)'; echo 'project(picture C)'; } >head.txt
{ cat head.txt; "$source/test/readme_program" 'libdigits[.]a'; } >project/CMakeLists.txt
mv c one_digits picture.c project
mv project/one_digits project/one
rm project/c/libdigits.a # made again, of what is compiled
said_by_project() { # FOLDER
    cmake -S "$1" -B "$1/build" -DCMAKE_C_COMPILER="$cc" >"$1/log" && cmake --build "$1/build" >>"$1/log" ||
        failed "README's project: $(tail -3 "$1/log")"
    said=$("$1/build/picture" "$source/models/digits/digit_7.npy") || failed "README's project: status $?"
    [ "$said" = 'it is a 7' ] || failed "README's project says $said"
}
said_by_project project
rm -r project/build
{ cat head.txt; "$source/test/readme_program" 'picture[.]c one'; } >project/CMakeLists.txt
said_by_project project
mv project/picture.c project/c .

# ---- --threads: the same bits from any number of the caller's threads ----
cat >threads.c <<'EOF'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include "digits.h"
static float x[64 * 784], y[64 * 10], z[64 * 10];
static char memory[DIGITS_CONTEXT_SIZE];
static int most, *parts = &most;
struct part {
    void (*job)(void *arg, int i);
    void *arg;
    int i;
};
static void *run_part(void *p)
{
    ((struct part *)p)->job(((struct part *)p)->arg, ((struct part *)p)->i);
    return NULL;
}
static void run(void *user, int n, void (*job)(void *arg, int i), void *arg)
{
    struct part part[DIGITS_THREADS];
    pthread_t thread[DIGITS_THREADS];
    *(int *)user = n > *(int *)user ? n : *(int *)user;
    for (int i = 1; i < n; i++) {
        part[i] = (struct part){job, arg, i};
        pthread_create(&thread[i], NULL, run_part, &part[i]);
    }
    job(arg, 0);
    for (int i = 1; i < n; i++)
        pthread_join(thread[i], NULL);
}
int main(void)
{
    struct digits *m = digits_init(memory, sizeof memory);
    for (int i = 0; i < 64 * 784; i++)
        x[i] = (float)((i * 7919u) % 255) / 255;
    if (!m || digits_run(m, (const void *[]){x}, (void *[]){y}))
        return fprintf(stderr, "%s\n", digits_error(m)), 1;
    for (int n = 0; n < 12; n++) {
        memset(z, 0, sizeof z), most = 1;
        digits_threads(m, n, n == 11 ? NULL : run, parts);
        if (digits_run(m, (const void *[]){x}, (void *[]){z}) || memcmp(y, z, sizeof y))
            return fprintf(stderr, "%d threads: other bits\n", n), 1;
        if (most != (n < 2 || n == 11 ? 1 : n < DIGITS_THREADS ? n : DIGITS_THREADS))
            return fprintf(stderr, "%d threads: %d parts\n", n, most), 1;
    }
    return 0;
}
EOF
"$xcc" -q "$source/models/digits/digits.onnx" --shape batch=64 --isa portable --threads --standalone many
make -C many ${TSAN:+CFLAGS="-w -fsanitize=thread" ONE_OBJECT=no} || failed "make of --threads"
$cc -O1 -Wall -Wextra -Werror ${TSAN:+-fsanitize=thread} -o threads threads.c -Imany many/libdigits.a -lm -lpthread
./threads || failed "threads: status $?"
refuses 1 'has sizes that are open' "$xcc" -q "$source/models/digits/digits.onnx" --threads --standalone no

# ---- plain routines: each has the kernels and element types that it calls, and no others ----
cat >routines.xir <<'EOF'
graph "routines" (%0 "image": f32[1,1,28,28]) {
  %c1 = const f32[] {255}
  %1 = mul(%0, %c1)
  %2 = cast(%1) {to=6}
  %3 = cast(%1) {to=2}
  %4 = cast(%1) {to=12}
  %c5 = const u32[] {7}
  %5 = argmax(%0) {axis=3, keepdims=0, select_last_index=1}
  %6 = argmin(%0) {axis=3, keepdims=0}
  %7 = argmax(%2) {axis=2, keepdims=0}
  %8 = argmin(%3) {axis=3, keepdims=0, select_last_index=1}
  %9 = hardmax(%0) {axis=3}
  %10, %11 = threefry(%4, %4, %c5, %c5, %c5)
  return(%7, %5, %6, %8, %9, %10)
} outputs("a", "b", "c", "d", "e", "f")
EOF
# NAME ROOMS OUTPUT...: the program of NAME.xir, which takes the picture of a digit, has xrun's bits. ROOMS: bytes.
has_bits_of_xrun() {
    name=$1 rooms=$2
    shift 2
    "$xcc" "$name.xir" -q --auto-cast none --isa portable --standalone "$name" -o "$name.neff"
    make -C "$name" || failed "make of $name"
    $cc -O1 -DNAME="$name" -DHEADER="\"$name.h\"" -DOUTPUTS=$# -DROOM="$rooms" -o "of_$name" \
        "$source/test/standalone_run.c" -I"$name" "$name/lib$name.a" -lm
    "./of_$name" got "$source/models/digits/digit_7.npy" >said.txt || failed "$name: status $?"
    XCC_KERNELS=portable "$xrun" "$name.neff" "$source/models/digits/digit_7.npy" -o want >out.txt
    i=0
    for output in "$@"; do
        tail -c "$(wc -c <got_$i.bin)" "want/$output.npy" | cmp -s - got_$i.bin ||
            failed "$name: other bits of '$output' than xrun's"
        i=$((i + 1))
    done
}

has_bits_of_xrun routines 224,224,224,224,3136,3136 a b c d e f
sed 's/return(.*/return(%7)/; s/outputs(.*/outputs("a")/' routines.xir >one_routine.xir
"$xcc" one_routine.xir -q --isa portable --standalone one_routine
grep -q USE_ARG_DT_I32 one_routine/one_routine_use.h || failed "argmax of i32 has no loop for i32"
! grep -E 'ARG_DT_(F32|U8)|threefry' one_routine/one_routine_use.h || failed "argmax of i32 has more than it calls"

# One column of few terms, which is computed as one row of what is not packed.
cat >column.xir <<'EOF'
graph "column" (%0 "image": f32[1,1,28,28]) {
  %c0 = const f32[4,1] {0.5, -0.25, 0.75, 1}
  %c1 = const i64[2] {196, 4}
  %1 = reshape(%0, %c1)
  %2 = matmul(%1, %c0)
  return(%2)
} outputs("y")
EOF
has_bits_of_xrun column 784 y

# A function that nothing but a product calls, in its last step; whole numbers that become floats by a factor.
cat >after.xir <<EOF
graph "after" (%0 "image": f32[1,1,28,28]) {
  %c0 = const f32[28,4] {$(seq -s ', ' -f %.3f 0.001 0.001 0.112)}
  %c1 = const i64[2] {28, 28}
  %c2 = const f32[] {0.03}
  %1 = reshape(%0, %c1)
  %2 = matmul(%1, %c0)
  %3 = tanh(%2)
  %4 = cast(%1) {to=6}
  %5 = cast(%4) {to=1}
  %6 = mul(%5, %c2)
  return(%3, %6)
} outputs("y", "z")
EOF
has_bits_of_xrun after 448,3136 y z

# A Fourier transform of complex numbers turns their parts: a line that is divided, and short lines.
cat >spectrum.xir <<'EOF'
graph "spectrum" (%0 "image": f32[1,1,28,28]) {
  %c0 = const i64[2] {1, 784}
  %c1 = const i64[2] {28, 28}
  %1 = reshape(%0, %c0)
  %2 = cast(%1) {to=14}
  %3 = fft(%2) {kind="FFT", lengths=[784]}
  %4 = complex_abs(%3)
  %5 = reshape(%4, %c1)
  %6 = cast(%5) {to=14}
  %7 = fft(%6) {kind="FFT", lengths=[28]}
  %8 = complex_abs(%7)
  return(%8)
} outputs("y")
EOF
has_bits_of_xrun spectrum 3136 y

# Rows that are added to others, and quantisation by a scale that is computed.
cat >called.xir <<EOF
graph "called" (%0 "image": f32[1,1,28,28]) {
  %c0 = const i64[2] {14, 56}
  %c1 = const f32[9,56] {$(seq -s', ' 1 504)}
  %c2 = const i32[14,1] {0, 8, 3, 3, 1, 5, 8, 2, 0, 7, 6, 4, 4, 3}
  %c3 = const f32[] {0.01}
  %c4 = const u8[] {3}
  %1 = reshape(%0, %c0)
  %2 = scatter_windows(%c1, %c2, %1) {update_window_dims=[1], inserted_window_dims=[0], scatter_dims_to_operand_dims=[0], input_batching_dims=ints[], scatter_indices_batching_dims=ints[], index_vector_dim=1, combine="add"}
  %3 = reduce_max(%2) {keepdims=0}
  %4 = mul(%3, %c3)
  %5 = quantize_linear(%2, %4, %c4)
  %6 = dequantize_linear(%5, %4, %c4)
  return(%2, %5, %6)
} outputs("added", "quantised", "back")
EOF
has_bits_of_xrun called 2016,504,2016 added quantised back

# Factors and solutions, whose blocks the kernel for products of doubles multiplies.
numbers=$(awk 'BEGIN { for (i = 1; i <= 784; i++) { x = (x * 61 + 17) % 257; printf "%s%d", (i > 1 ? ", " : ""), x } }')
cat >factors.xir <<EOF
graph "factors" (%0 "image": f32[1,1,28,28]) {
  %c0 = const i64[2] {28, 28}
  %c1 = const f32[28,28] {$numbers}
  %1 = reshape(%0, %c0)
  %2 = add(%1, %c1)
  %3, %4, %5 = linalg(%2) {routine="getrf"}
  %6, %7 = linalg(%2) {routine="geqrf"}
  %8 = triangular_solve(%6, %2) {left_side=0, lower=0, transpose=1}
  return(%3, %4, %6, %8)
} outputs("lu", "pivots", "qr", "x")
EOF
has_bits_of_xrun factors 3136,112,3136,3136 lu pivots qr x
"$xcc" factors.xir -q --isa portable --amalgamate --standalone factors_one
$cc -fsyntax-only -Wall -Werror -Ifactors_one factors_one/factors.c || failed "linear algebra in one file"

# In one file too: a body has a name of the file's own, its operator has not.
cat >bodies.xir <<'X'
graph "bodies" (%0 "x": f32[1,2,5,5], %1 "offset": f32[1,8,4,4]) {
  %c0 = const f32[2,2,2,2] {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}
  %2, %3 = max_pool(%0) {kernel_shape=[2, 2]}
  %4 = deform_conv(%0, %c0, %1) {kernel_shape=[2, 2]}
  return(%2, %3, %4)
} outputs("pool", "places", "deformed")
X
"$xcc" bodies.xir -q --isa portable --amalgamate --standalone bodies
$cc -fsyntax-only -Wall -Werror -Ibodies bodies/bodies.c || failed "plain routines in one file"

# In one file transposes, which use their constants in attributes, are whole; of pictures of an open number, too.
cat >turned.xir <<'X'
graph "turned" symbols(n) (%0 "x": f32[n,24,7,7], %1 "h": f16[1024,128], %2 "b": u8[64,96]) {
  %3 = average_pool(%0) {kernel_shape=[2,2], strides=[1,1], pads=[1,1,1,1]}
  %4 = transpose(%1) {perm=[1, 0]}
  %5 = transpose(%2) {perm=[1, 0]}
  return(%3, %4, %5)
} outputs("pool", "halves", "bytes")
X
"$xcc" turned.xir -q --isa portable,avx2 --amalgamate --standalone turned
$cc -fsyntax-only -Wall -Werror -Iturned turned/turned.c || failed "transposes in one file"

# ---- a static program, in a root with nothing else ----
if command -v musl-gcc >/dev/null && [ "$(id -u)" = 0 ]; then
    make -C fixed clean
    make -C fixed CC=musl-gcc || failed "make CC=musl-gcc"
    mkdir root
    musl-gcc -O1 -static -o root/picture picture.c -Ifixed fixed/libdigits.a -lm
    cp "$source/models/digits/digit_7.npy" root
    said=$(chroot root /picture /digit_7.npy) || failed "the static program: status $?"
    [ "$said" = 'it is a 7' ] || failed "the static program says $said"
fi

# ---- refusals ----
refuses 1 "'sse9' is not known" "$xcc" "$source/models/digits/digits.onnx" --isa portable,sse9 --standalone no
refuses 2 'go with --standalone' "$xcc" "$source/models/digits/digits.onnx" --isa portable -o no.neff
refuses 1 'not for trn1' "$xcc" "$source/models/digits/digits.onnx" --target trn1 --standalone no
refuses 1 'cannot make the folder' "$xcc" "$source/models/digits/digits.onnx" --standalone no/such/folder
finish
