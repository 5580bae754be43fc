"""Parameters of the functions that AWS documents, in their order: x may be given by position or name, x= has a default, what follows * is
given by name. Of neuronxcc.nki as in SDK 2.26, of nki as in 0.6."""

PARAMETERS = {
    "neuronxcc.nki.tensor": """
assert_shape, broadcast_to, reshape: shape
astype, view: dtype
dtype, itemsize, ndim, shape:
expand_dims: axis
""",
    "neuronxcc.nki": """
baremetal, benchmark: kernel=
jit: func= mode=
profile: func=
simulate_kernel: kernel *args
""",
    "neuronxcc.nki.compiler": """
allocation_scope, no_reorder:
enable_stack_allocator: func= log_level=
force_auto_alloc, skip_middle_end_transformations: func=
multi_buffer: factor=
""",
    "neuronxcc.nki.compiler.psum": """
alloc: func
auto_alloc:
mod_alloc: * base_bank base_addr= base_partition= num_bank_tiles= num_par_tiles= num_free_tiles=
""",
    "neuronxcc.nki.compiler.sbuf": """
alloc: func
auto_alloc:
mod_alloc: * base_addr base_partition= num_par_tiles= num_free_tiles=
""",
    "neuronxcc.nki.isa": """
activation: op data * bias= scale= reduce_op= reduce_res= reduce_cmd= mask= dtype=
activation_reduce: op data * reduce_op reduce_res bias= scale= mask= dtype=
affine_select: pred on_true_tile on_false_value * mask= dtype=
bn_aggr, bn_stats: data * mask= dtype=
builtin_custom_op: function_name lib_file_name ulib_to_ucode_version ulib_to_isa_version srcs dsts
dma_copy: * dst src mask= dst_rmw_op= oob_mode= dge_mode=
dma_transpose: src * axes= mask= dtype=
dropout: data prob * mask= dtype=
get_nc_version:
iota: expr dtype * mask=
local_gather: src_buffer index num_elem_per_idx= num_valid_indices= * mask=
max8: * src mask= dtype=
memset: shape value dtype * mask= engine=
nc_find_index8: * data vals mask= dtype=
nc_match_replace8: * data vals imm dst_idx= mask= dtype=
nc_matmul: stationary moving * is_stationary_onezero= is_moving_onezero= is_transpose= tile_position= tile_size= \
  mask=
nc_stream_shuffle: src dst shuffle_mask * dtype= mask=
nc_transpose: data * mask= dtype= engine=
range_select: * on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd= reduce_res= reduce_op= range_start= \
  on_false_value= mask= dtype=
reciprocal: data * dtype= mask=
scalar_tensor_tensor: * data op0 operand0 op1 operand1 reverse0= reverse1= dtype= mask=
select_reduce: * dst predicate on_true on_false reduce_res= reduce_cmd= reduce_op= reverse_pred= mask= dtype=
sequence_bounds: * segment_ids dtype=
tensor_copy, tensor_copy_dynamic_src: src * mask= dtype= engine=
tensor_copy_dynamic_dst: * dst src mask= dtype= engine=
tensor_copy_predicated: * src dst predicate reverse_pred= mask= dtype=
tensor_partition_reduce: op data * mask= dtype=
tensor_reduce: op data axis * mask= dtype= negate= keepdims=
tensor_scalar: data op0 operand0 reverse0= op1= operand1= reverse1= * dtype= mask= engine=
tensor_scalar_reduce: * data op0 operand0 reduce_op reduce_res reverse0= dtype= mask=
tensor_tensor: data1 data2 op * dtype= mask= engine=
tensor_tensor_scan: data0 data1 initial op0 op1 reverse0= reverse1= * dtype= mask=
""",
    "neuronxcc.nki.language": """
abs, arctan, ceil, cos, erf, erf_dx, exp, floor, gelu, gelu_apprx_sigmoid, gelu_apprx_tanh, gelu_dx, invert, log, \
  logical_not, mish, negative, reciprocal, relu, rsqrt, sigmoid, sign, silu, silu_dx, sin, softplus, sqrt, square, \
  tan, tanh, transpose, trunc: x * dtype= mask=
add, bitwise_and, bitwise_or, bitwise_xor, divide, equal, greater, greater_equal, left_shift, less, less_equal, \
  logical_and, logical_or, logical_xor, maximum, minimum, multiply, not_equal, power, right_shift, subtract: x y * \
  dtype= mask=
affine_range, arange, sequential_range, static_range: *args
all, var: x axis * dtype= mask=
all_reduce: x op program_axes * dtype= mask= parallel_reduce= asynchronous=
atomic_rmw: dst value op * mask=
broadcast_to: src * shape
copy, load, load_transpose2d: src * mask= dtype=
device_print: prefix x * mask=
dropout: x rate * dtype= mask=
ds: start size
empty_like, zeros_like: a dtype= * buffer= name=
expand_dims: data axis
finfo: dtype
fmod, mod: x y dtype= mask=
full: shape fill_value dtype * buffer= name=
gather_flattened: data indices * mask= dtype=
gemm_grid, gemm_stationary_grid, program_ndim:
loop_reduce: x op loop_indices * dtype= mask=
matmul: x y * transpose_x= mask=
max, mean, min, prod, sum: x axis * dtype= mask= keepdims=
ndarray, ones, zeros: shape dtype * buffer= name=
num_programs: axes=
program_id: axis
rand: shape dtype=
random_seed: seed * mask=
rms_norm: x w axis n epsilon= * dtype= compute_dtype= mask=
shared_constant: constant dtype=
shared_identity_matrix: n dtype=
softmax: x axis * dtype= compute_dtype= mask=
static_cast: input_data dtype
store: dst value * mask=
where: condition x y * dtype= mask=
""",
    "nki": """
jit: fn=
simulate: kernel
""",
    "nki.isa": """
activate2: dst op data imm0 imm1 op0 op1 relu_param= reverse0= reverse1= reduce_op= reduce_res= reduce_cmd= name=
activation: dst op data bias= scale= reduce_op= reduce_res= reduce_cmd= name=
activation_reduce: dst op data reduce_op reduce_res bias= scale= name=
affine_select: dst pattern channel_multiplier on_true_tile on_false_value cmp_op= offset= name=
bn_aggr, bn_stats, reciprocal: dst data name=
core_barrier: data cores engine= name=
dma_compute: dst srcs reduce_op scales= unique_indices= oob_mode= name=
dma_copy: dst src priority= oob_mode= dge_mode= engine= name=
dma_transpose: dst src axes= priority= dge_mode= oob_mode= name=
dropout: dst data prob name=
exponential: dst src max_value= reduce_res= reduce_cmd= reduce_init= name=
get_nc_sub_version, get_nc_version:
iota: dst pattern offset= channel_multiplier= name=
local_gather: dst src_buffer index num_elem_per_idx= num_valid_indices= name=
max8: dst src name=
memset: dst value engine= name=
nc_find_index8: dst data vals name=
nc_match_replace8: dst data vals imm dst_idx= name=
nc_matmul: dst stationary moving is_stationary_onezero= is_moving_onezero= is_transpose= accumulate= tile_position= \
  tile_size= perf_mode= name=
nc_matmul_mx: dst stationary moving stationary_scale moving_scale tile_position= tile_size= accumulate= name=
nc_n_gather: dst data indices name=
nc_stream_shuffle: dst src shuffle_mask name=
nc_transpose: dst data engine= name=
nonzero_with_count: dst src index_offset= padding_val= name=
quantize_mx: dst src dst_scale name=
rand2: dst min max name=
rand_set_state: src_seeds engine= name=
range_select: dst on_true_tile comp_op0 comp_op1 bound0 bound1 reduce_cmd= reduce_res= reduce_op= range_start= \
  on_false_value= name=
register_alloc: x=
register_load, register_move, register_store: dst src
rand_get_state, rng: dst engine= name=
scalar_tensor_tensor: dst data op0 operand0 op1 operand1 reverse0= reverse1= name=
select_reduce: dst predicate on_true on_false reduce_res= reduce_cmd= reduce_op= reverse_pred= name=
sendrecv: src dst send_to_rank recv_from_rank pipe_id dma_engine= name=
sequence_bounds: dst segment_ids name=
set_rng_seed: src_seeds name=
tensor_copy: dst src engine= name=
tensor_copy_predicated: dst src predicate reverse_pred= name=
tensor_partition_reduce: dst op data name=
tensor_reduce: dst op data axis negate= keepdims= name=
tensor_scalar: dst data op0 operand0 reverse0= op1= operand1= reverse1= engine= name=
tensor_scalar_cumulative: dst src op0 op1 imm0 imm1= reduce_cmd= name=
tensor_scalar_reduce: dst data op0 operand0 reduce_op reduce_res= reverse0= reduce_cmd= reduce_init= \
  reduce_res_negate= name=
tensor_tensor: dst data1 data2 op engine= name=
tensor_tensor_scan: dst data0 data1 initial op0 op1 reverse0= reverse1= name=
topk: val_dst idx_dst src n name=
""",
    "nki.language.NkiTensor": """
ap: pattern offset= scalar_offset= vector_offset= indirect_dim= dtype=
broadcast: dim size
expand_dim, squeeze_dim: dim
flatten_dims: start_dim end_dim
indirect: index num_elem=
get_pattern, is_contiguous, is_indirect:
permute: dims
rearrange: src_pattern dst_pattern fixed_sizes=
reshape: shape
reshape_dim: dim shape
select: dim index
slice: dim start end step=
vector_select: dim vector_offset
view: dtype
""",
    "nki.language": """
abs, arctan, ceil, copy, cos, erf, erf_dx, exp, floor, gelu, gelu_apprx_sigmoid, gelu_apprx_sigmoid_dx, \
  gelu_apprx_tanh, gelu_dx, invert, log, logical_not, mish, negative, reciprocal, relu, rsqrt, sigmoid, sign, silu, \
  silu_dx, sin, softplus, sqrt, square, tan, tanh, transpose, trunc: x dtype=
abs_max, abs_min, add, bitwise_and, bitwise_or, bitwise_xor, divide, equal, fmod, greater, greater_equal, \
  left_shift, less, less_equal, logical_and, logical_or, logical_xor, maximum, minimum, mod, multiply, not_equal, \
  power, right_shift, subtract: x y dtype=
affine_range, dynamic_range, sequential_range, static_range: start stop= step=
all: x axis dtype=
broadcast_to: x shape dtype=
device_print: print_prefix tensor
dropout: x rate dtype=
ds: start size
expand_dims: x axis
fori_loop: lower upper body_fun step=
full: shape fill_value dtype buffer= name=
gather_flattened: data indices axis= dtype=
is_hbm, is_on_chip, is_psum, is_sbuf: buffer
load, load_transpose2d: src dtype=
matmul: x y transpose_x=
ndarray: shape dtype buffer= name= address=
no_reorder, program_ndim:
num_programs: axes=
ones, rand, zeros: shape dtype buffer= name=
program_id: axis=
random_seed: seed
rms_norm: x w axis n epsilon= dtype= compute_dtype=
shared_constant: constant
shared_identity_matrix: n dtype= dst=
softmax: x axis= dtype=
store: dst value
max, mean, min, prod, sum, var: x axis dtype= keepdims=
where: condition x y dtype=
while_loop: init body_fun
empty_like, zeros_like: x dtype= buffer= name=
""",
}
