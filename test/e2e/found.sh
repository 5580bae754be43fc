#!/bin/sh
# found.sh BUILD SCRATCH: the cases of XCC_TEST_DATA/found behave as the README there says.
# Those of hostile/ are run by hostile.sh.
. "$(dirname "$0")/common.sh"
data=${XCC_TEST_DATA:-$source/../shared/data}/found
[ -d "$data/onnx" ] || { echo "no files in $data"; exit 77; }

# says TEXT CASE: compiled, and refused with this text when sizes are bound
says() {
    text=$1 folder=$data/onnx/$2
    "$xcc" "$folder/model.onnx" -q -o m.neff || failed "$2: does not compile"
    if [ -d "$folder/test_data_set_1" ]; then
        got=$("$xcc" test --norm-tol 3e-2 "$folder" 2>&1) && failed "$2: its second data set passes"
    else
        # shellcheck disable=SC2046
        got=$("$xrun" m.neff $(ls "$folder"/i*.npy) 2>&1) && failed "$2: runs"
    fi
    case $got in
    *"$text"*) ;;
    *) failed "$2: expected '$text', got '$got'" ;;
    esac
}

says "sizes 16 and 8 do not broadcast in dimension 1 of node 'y': the model needs s = 8 or 1 (operands 'x' and 'w')" bc1
says "sizes 4 and 8 do not broadcast in dimension 1 of node 'y': the model needs s = 8 or 1 (operands 'r' and 'w')" bc7
says "sizes 16 and 8 do not broadcast in dimension 1 of node 'y'" shape_k12
says "sizes 360 and 120 differ in node 'y': the model needs b = 1" rs4
says "in node 'y': the model needs b = 6400" rs5
says "size 15 is not a multiple of 2 in dimension 2 of node 'y'" shape_k10
says "in dimension 1 of node 'y': the model needs s = 8 (operands 'x' and 'w')" shape_k1
says "the model needs s = 8 (the dimension and the sum of its parts of operand 'x')" shape_k4
says "sizes 16 and 8 do not broadcast in dimension 1 of node 'y'" shape_k5
says "sizes 2 and 1 differ in dimension 0 of node 'y': the model needs b = 1" shape_k6
says "sizes 2 and 5 differ in dimension 0 of node 'y': the model needs b = 2 (operand 'c')" shape_k11
says "sizes 8 and 16 differ in dimension 0 of node 'y': the model needs s = 8 (operand 'w')" shape_k8
says "the model needs" c_mha__ts
says "the model needs" b_mamba__ts

for case in c_grid_sample_bicubic_border__ts c_interp_bilinear_1__ts q_bert_qdq d_gpr d_gpr_std d_tfidf_word; do
    "$xcc" test --norm-tol 3e-2 "$data/onnx/$case" >got 2>&1 || failed "$case: $(tail -1 got)"
done
"$xcc" "$data/onnx/lstm_initial_c/model.onnx" -q -o m.neff 2>got && failed "lstm_initial_c: compiles"
grep -q "node 'y' (LSTM): sizes 12 and 5 differ in dimension 2 (initial_c" got || failed "lstm_initial_c: $(cat got)"
"$xcc" "$data/onnx/d_logreg_zipmap/model.onnx" -q -o m.neff
"$xrun" m.neff --random -o zip >/dev/null || failed "d_logreg_zipmap: its columns are not written"
[ "$(find zip -name '*.npz' | wc -l)" = 1 ] || failed "d_logreg_zipmap: no named columns: $(ls zip)"

for model in "$data"/hlo/*/model.* "$data"/hlo/jax_export/*; do
    case=$(basename "$(dirname "$model")") expect=
    case $case in
    c_callback) "$xcc" "$model" -q -o m.neff 2>got && failed "$case compiles"; grep -q 'not supported' got || failed "$case: $(cat got)"; continue ;;
    f_8_psum) "$xcc" "$model" -q -o m.neff 2>got && failed "$case compiles"; grep -q '8 devices' got || failed "$case: $(cat got)"; continue ;;
    esac
    "$xcc" "$model" -q --auto-cast none -o m.neff || { failed "$case: does not compile"; continue; }
    files=$(find "$data/hlo/$case" -name 'input_*.npy' | sort -V)
    for output in $(find "$data/hlo/$case" -name 'output_*.npy' | sort -V); do expect="$expect --expect $output"; done
    # shellcheck disable=SC2086
    "$xrun" m.neff ${files:---random} $expect >got 2>&1 || failed "$case: $(tail -3 got)"
done
finish
