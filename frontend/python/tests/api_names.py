"""Names of the two interfaces as kernels use them: under neuronxcc.nki, under nki, and of tensors."""
BETA1 = """
FrameworkKernel _pre_prod_kernels.ActFnType _pre_prod_kernels.ActFnType.GELU _pre_prod_kernels.ActFnType.SiLU
_pre_prod_kernels.ActFnType.Swish _pre_prod_kernels.ExpertAffinityScaleMode _pre_prod_kernels.ExpertAffinityScaleMode.NO_SCALE
_pre_prod_kernels.ExpertAffinityScaleMode.POST_SCALE _pre_prod_kernels.ExpertAffinityScaleMode.PRE_SCALE _pre_prod_kernels.NormType
_pre_prod_kernels.NormType.NO_NORM _pre_prod_kernels.QKVOutputLayout _pre_prod_kernels.QKVOutputLayout.BSD
_pre_prod_kernels.QuantizationType _pre_prod_kernels.QuantizationType.NONE _pre_prod_kernels.RouterActFnType
_pre_prod_kernels.RouterActFnType.SIGMOID _pre_prod_kernels.RouterActFnType.SOFTMAX
_pre_prod_kernels.attention_token_gen.llama3_nki_attention_block_token_gen_kernel
_pre_prod_kernels.moe_token_gen.moe_token_gen_all_experts_kernel _pre_prod_kernels.output_proj.output_proj_kernel
_pre_prod_kernels.qkv_tkg_impl.nki_qkv_projection_tkg_impl _private.private_api.attention_kernel _private.private_api.cc_div
_private.private_api.column_tiled_mm_kernel _private.private_api.core_barrier _private.private_api.do_while
_private.private_api.mlp_fused_add_kernel _private.private_api.mlp_kernel _private.private_api.qkv_fused_add_kernel
_private.private_api.qkv_kernel _private.private_api.row_tiled_mm_kernel _private.private_api.sendrecv _private_kernels.NormType
_private_kernels.NormType.NO_NORM _private_kernels.NormType.RMS_NORM _private_kernels.RoPE.RoPE_sbuf
_private_kernels.attention.attention_isa_kernel _private_kernels.attention.ring_attention_bwd
_private_kernels.attention.ring_attention_fwd _private_kernels.mlp.mlp_isa_kernel _private_kernels.qkv.rmsnorm_qkv_isa_kernel baremetal
benchmark compile.GenericKernel compile.GenericKernel.__call__ compiler._internal compiler._internal.__file__
compiler.backends.neuron.FrameworkKernel.UnifiedKernel compiler.backends.neuron.indexing.TileIndex compiler.enable_stack_allocator
compiler.multi_buffer compiler.no_reorder compiler.psum.alloc compiler.psum.mod_alloc compiler.sbuf.alloc compiler.sbuf.mod_alloc
compiler.skip_middle_end_transformations docs.examples.layernorm.layernorm_nki_kernel.nki_layernorm_kernel_v1
docs.examples.layernorm.layernorm_nki_kernel.nki_layernorm_kernel_v2 framework.compiled.CompileKernel
framework.compiled.CompileKernel._compile_opts framework.kernel.Kernel framework.kernel.Kernel.__call__
framework.kernel.Kernel.__post_init__ isa._tiled_offloaded_fma isa._tiled_offloaded_memcpy isa.activation isa.activation_reduce
isa.affine_select isa.bn_aggr isa.bn_stats isa.builtin_custom_op isa.constants.dge_mode isa.constants.dge_mode.hwdge
isa.constants.oob_mode isa.constants.oob_mode.error isa.constants.oob_mode.skip isa.core_barrier isa.dge_mode isa.dge_mode.hwdge
isa.dge_mode.swdge isa.dma_copy isa.dma_engine isa.dma_transpose isa.dropout isa.engine isa.engine.gpsimd isa.engine.scalar isa.fp32
isa.get_nc_version isa.gpsimd_engine isa.iota isa.local_gather isa.max8 isa.memset isa.nc_find_index8 isa.nc_match_replace8
isa.nc_matmul isa.nc_stream_shuffle isa.nc_transpose isa.nc_version isa.nc_version.gen2 isa.nc_version.gen3 isa.neuron_isa.dma_copy
isa.oob_mode isa.oob_mode.error isa.oob_mode.skip isa.quantize_mx isa.range_select isa.reciprocal isa.reduce_cmd
isa.reduce_cmd.load_reduce isa.reduce_cmd.reduce isa.reduce_cmd.reset_reduce isa.scalar_engine isa.scalar_tensor_tensor
isa.select_reduce isa.sendrecv isa.sequence_bounds isa.tensor_copy isa.tensor_copy_dynamic_dst isa.tensor_copy_dynamic_src
isa.tensor_copy_predicated isa.tensor_engine isa.tensor_partition_reduce isa.tensor_reduce isa.tensor_scalar
isa.tensor_scalar_cumulative isa.tensor_scalar_reduce isa.tensor_tensor isa.tensor_tensor_scan isa.unknown_engine isa.vector_engine jit
kernels.attention.FlashConfig kernels.attention.attention_isa_kernel kernels.attention.flash_attn_bwd kernels.attention.flash_fwd
kernels.attention.fused_self_attn_for_SD_small_head_size kernels.flash_attn_bwd kernels.flash_fwd
kernels.vision.resize_nearest_fixed_dma_kernel kernels.vision.select_and_scatter_kernel language.abs language.add language.affine_range
language.all language.all_reduce language.arange language.arctan language.atomic_rmw language.bfloat16 language.bfp16
language.bitwise_and language.bitwise_or language.bitwise_xor language.bool_ language.broadcast_to language.ceil
language.constants.sizeinbytes language.copy language.cos language.device_print language.divide language.dropout language.ds
language.empty_like language.equal language.erf language.erf_dx language.exp language.expand_dims language.finfo language.float16
language.float32 language.float8_e4m3 language.float8_e4m3fn_x4 language.float8_e5m2 language.float8_e5m2_x4 language.floor
language.fmod language.fp32 language.fp32.min language.full language.gather_flattened language.gelu language.gelu_apprx_sigmoid
language.gelu_apprx_tanh language.gelu_dx language.gemm_grid language.gemm_stationary_grid language.greater language.greater_equal
language.hbm language.int16 language.int32 language.int8 language.invert language.iterators.sync_program language.left_shift
language.less language.less_equal language.load language.load_transpose2d language.log language.logical_and language.logical_not
language.logical_or language.logical_xor language.loop_reduce language.matmul language.max language.maximum language.mean language.mgrid
language.min language.minimum language.mish language.mod language.multiply language.nc language.ndarray language.negative
language.not_equal language.num_programs language.ones language.par_dim language.power language.private_hbm language.prod
language.program_id language.program_ndim language.psum language.rand language.random_seed language.reciprocal language.relu
language.right_shift language.rms_norm language.rsqrt language.sbuf language.sequential_range language.shared_constant
language.shared_hbm language.shared_identity_matrix language.sigmoid language.sign language.silu language.silu_dx language.sin
language.softmax language.softplus language.spmd_dim language.sqrt language.square language.static_cast language.static_range
language.store language.subtract language.sum language.tan language.tanh language.tfloat32 language.tile_size
language.tile_size.bn_stats_fmax language.tile_size.gemm_moving_fmax language.tile_size.gemm_stationary_fmax language.tile_size.pmax
language.tile_size.psum_fmax language.transpose language.trunc language.uint16 language.uint32 language.uint8 language.var
language.where language.zeros language.zeros_like nccl nccl.all_gather nccl.all_reduce nccl.collective_permute
nccl.collectives.collective_permute_implicit nccl.reduce_scatter profile simulate_kernel tensor trace typing.immutable typing.mutable
typing.mutable_tensor typing.scalar typing.tensor
"""
V06 = """
collectives.ReplicaGroup collectives.all_gather collectives.all_gather_v collectives.all_reduce collectives.all_to_all
collectives.all_to_all_v collectives.collective_permute collectives.collective_permute_implicit
collectives.collective_permute_implicit_current_processing_rank_id collectives.collective_permute_implicit_reduce collectives.rank_id
collectives.reduce_scatter compiler._internal._mlir_libs._nki compiler._internal._mlir_libs._nki.register_all_dialects
compiler._internal.dialects.nisa compiler._internal.dialects.nisa.ActivationFunction.abs
compiler._internal.dialects.nisa.ActivationFunction.exp compiler._internal.dialects.nisa.ActivationFunction.log
compiler._internal.dialects.nisa.ActivationFunction.sign compiler._internal.dialects.nisa.ActivationFunction.sin
compiler._internal.dialects.nisa.ActivationFunction.sqrt compiler._internal.dialects.nisa.ActivationFunction.square
compiler._internal.dialects.nisa.ActivationFunction.tanh compiler._internal.dialects.nisa.ArithOp.Add
compiler._internal.dialects.nisa.ArithOp.Divide compiler._internal.dialects.nisa.ArithOp.DivideInt
compiler._internal.dialects.nisa.ArithOp.IsEQ compiler._internal.dialects.nisa.ArithOp.IsGE
compiler._internal.dialects.nisa.ArithOp.IsGT compiler._internal.dialects.nisa.ArithOp.IsLE
compiler._internal.dialects.nisa.ArithOp.IsLT compiler._internal.dialects.nisa.ArithOp.IsNE
compiler._internal.dialects.nisa.ArithOp.LogicalAnd compiler._internal.dialects.nisa.ArithOp.LogicalOr
compiler._internal.dialects.nisa.ArithOp.Max compiler._internal.dialects.nisa.ArithOp.Min compiler._internal.dialects.nisa.ArithOp.Mod
compiler._internal.dialects.nisa.ArithOp.ModInt compiler._internal.dialects.nisa.ArithOp.Multiply
compiler._internal.dialects.nisa.ArithOp.Subtract compiler._internal.dialects.nisa.CrossLaneReduceArithOp.Add
compiler._internal.dialects.nisa.CrossLaneReduceArithOp.Max compiler._internal.dialects.nisa.DGEType.NoDGE
compiler._internal.dialects.nisa.Engine.DMA compiler._internal.dialects.nisa.Engine.DMA.value
compiler._internal.dialects.nisa.Engine.Gpsimd compiler._internal.dialects.nisa.Engine.Scalar
compiler._internal.dialects.nisa.Engine.Tensor compiler._internal.dialects.nisa.Engine.Vector
compiler._internal.dialects.nisa.MatmulZeroRegion.Size2048 compiler._internal.dialects.nisa.PerfOptMode.None_
compiler._internal.dialects.nisa.TensScalarRevOps.First compiler._internal.dialects.nisa.TensScalarRevOps.None_
compiler._internal.dialects.nisa.activation compiler._internal.dialects.nisa.alloc
compiler._internal.dialects.nisa.cross_lane_reduce_arith compiler._internal.dialects.nisa.dma_copy
compiler._internal.dialects.nisa.dma_copy_indirect compiler._internal.dialects.nisa.dma_transpose
compiler._internal.dialects.nisa.flatten_affine_map compiler._internal.dialects.nisa.matmul compiler._internal.dialects.nisa.memset
compiler._internal.dialects.nisa.reciprocal compiler._internal.dialects.nisa.release compiler._internal.dialects.nisa.tensor_copy
compiler._internal.dialects.nisa.tensor_reduce_arith compiler._internal.dialects.nisa.tensor_scalar_arith
compiler._internal.dialects.nisa.tensor_tensor_arith compiler._internal.dialects.nisa.tensor_tensor_power
compiler._internal.dialects.scf compiler._internal.dialects.scf.for_ compiler._internal.dialects.scf.yield_ compiler._internal.ir
compiler._internal.ir.AffineConstantExpr.get compiler._internal.ir.AffineDimExpr.get compiler._internal.ir.AffineExpr
compiler._internal.ir.AffineMap compiler._internal.ir.AffineMap.get compiler._internal.ir.AffineSymbolExpr.get
compiler._internal.ir.ArrayAttr compiler._internal.ir.ArrayAttr.get compiler._internal.ir.Attribute
compiler._internal.ir.Attribute.parse compiler._internal.ir.Block compiler._internal.ir.BoolAttr.get compiler._internal.ir.Context
compiler._internal.ir.DenseI32ArrayAttr.get compiler._internal.ir.DenseI64ArrayAttr.get compiler._internal.ir.DictAttr
compiler._internal.ir.F32Type.get compiler._internal.ir.FlatSymbolRefAttr compiler._internal.ir.FloatAttr.get
compiler._internal.ir.FunctionType.get compiler._internal.ir.IndexType.get compiler._internal.ir.InsertionPoint
compiler._internal.ir.InsertionPoint.at_block_begin compiler._internal.ir.IntegerAttr compiler._internal.ir.IntegerAttr.get
compiler._internal.ir.IntegerType.get_signless compiler._internal.ir.Location compiler._internal.ir.Location.unknown
compiler._internal.ir.MemRefType compiler._internal.ir.MemRefType.get compiler._internal.ir.Module compiler._internal.ir.Module.parse
compiler._internal.ir.OpView compiler._internal.ir.Operation compiler._internal.ir.Operation.create compiler._internal.ir.StringAttr
compiler._internal.ir.StringAttr.get compiler._internal.ir.Type compiler._internal.ir.TypeAttr compiler._internal.ir.TypeAttr.get
compiler._internal.ir.Value compiler._internal.ir.WalkResult compiler._internal.ir.WalkResult.ADVANCE
compiler._internal.ir.WalkResult.INTERRUPT compiler._internal.register_all_dialects compiler.driver.CompileOptions
compiler.driver.compile_bir_to_neff compiler.driver.compile_to_bir compiler.frontend.NKIFrontend compiler.frontend.ParserFrontend
compiler.frontend.TracerFrontend compiler.kernel_builder compiler.kernel_builder.Tensor compiler.kernel_builder.bfloat16
compiler.kernel_builder.build_kernel compiler.kernel_builder.float16 compiler.kernel_builder.float32
compiler.kernel_builder.isa.activation compiler.kernel_builder.isa.activation_function.relu
compiler.kernel_builder.isa.activation_function.silu compiler.kernel_builder.isa.dma_copy compiler.kernel_builder.isa.memset
compiler.kernel_builder.ndarray compiler.kernel_builder.sbuf compiler.kernel_builder.shared_hbm compiler.ncc_driver.CompileOptions
compiler.ncc_driver.CompiledKernel compiler.ncc_driver.CompiledKernel.from_frontend compiler.ncc_driver.compile_mlir_to_neff
compiler.ncc_driver.extract_perf_metrics compiler.target.resolve_target cpu_simulate dtype dtype.float8_e4m3 framework.kernel.Kernel
isa.NkiInstruction isa.NkiValidationError isa.VirtualRegister isa.activate2 isa.activation isa.activation_reduce isa.affine_select
isa.bn_aggr isa.bn_stats isa.constants isa.constants.dge_mode isa.constants.dge_mode.hwdge isa.constants.dge_mode.swdge
isa.constants.dge_mode.unknown isa.constants.matmul_perf_mode isa.constants.matmul_perf_mode.double_row isa.constants.oob_mode
isa.constants.oob_mode.error isa.constants.oob_mode.skip isa.core_barrier isa.dge_mode isa.dge_mode.hwdge isa.dge_mode.none
isa.dge_mode.swdge isa.dma_compute isa.dma_copy isa.dma_engine isa.dma_engine.dma isa.dma_engine.gpsimd_dma isa.dma_transpose
isa.dropout isa.engine isa.engine.scalar isa.engine.vector isa.exponential isa.get_nc_sub_version isa.get_nc_version isa.gpsimd_engine
isa.iota isa.local_gather isa.matmul_perf_mode isa.matmul_perf_mode.double_row isa.max8 isa.memset isa.nc_find_index8
isa.nc_match_replace8 isa.nc_matmul isa.nc_matmul_mx isa.nc_n_gather isa.nc_stream_shuffle isa.nc_transpose isa.nc_version
isa.nc_version.gen2 isa.nc_version.gen3 isa.nc_version.gen4 isa.nonzero_with_count isa.oob_mode isa.oob_mode.error isa.oob_mode.skip
isa.quantize_mx isa.rand2 isa.rand_get_state isa.rand_set_state isa.range_select isa.reciprocal isa.reduce_cmd
isa.reduce_cmd.reset_reduce isa.register_alloc isa.register_load isa.register_move isa.register_store isa.rng isa.scalar_engine
isa.scalar_tensor_tensor isa.select_reduce isa.sendrecv isa.sequence_bounds isa.set_rng_seed isa.tensor_copy isa.tensor_copy_predicated
isa.tensor_partition_reduce isa.tensor_reduce isa.tensor_scalar isa.tensor_scalar_cumulative isa.tensor_scalar_reduce isa.tensor_tensor
isa.tensor_tensor_scan isa.topk isa.vector_engine jit language.DType language.MemoryRegion language.NKIObject language.NkiTensor
language.abs language.abs_max language.abs_min language.add language.affine_range language.all language.arctan language.average
language.bfloat16 language.bitwise_and language.bitwise_or language.bitwise_xor language.bool language.broadcast_to language.bypass
language.ceil language.copy language.cos language.device_print language.divide language.dropout language.ds language.dynamic_range
language.empty_like language.equal language.erf language.erf_dx language.exp language.expand_dims language.float16 language.float32
language.float4_e2m1fn_x4 language.float8_e4m3 language.float8_e4m3fn language.float8_e4m3fn_x4 language.float8_e5m2
language.float8_e5m2_x4 language.floor language.fmod language.fori_loop language.full language.gather_flattened language.gelu
language.gelu_apprx_sigmoid language.gelu_apprx_sigmoid_dx language.gelu_apprx_tanh language.gelu_dx language.greater
language.greater_equal language.hbm language.int16 language.int32 language.int8 language.invert language.is_hbm language.is_on_chip
language.is_psum language.is_sbuf language.left_shift language.less language.less_equal language.load language.load_transpose2d
language.log language.logical_and language.logical_not language.logical_or language.logical_xor language.matmul language.max
language.maximum language.mean language.min language.minimum language.mish language.mod language.multiply language.ndarray
language.negative language.no_reorder language.not_equal language.num_programs language.ones language.power language.prelu
language.private_hbm language.prod language.program_id language.program_ndim language.psum language.rand language.random_seed
language.range language.reciprocal language.relu language.right_shift language.rms_norm language.rsqrt language.sbuf
language.sequential_range language.shared_constant language.shared_hbm language.shared_identity_matrix language.sigmoid language.sign
language.silu language.silu_dx language.sin language.softmax language.softplus language.sqrt language.square language.static_range
language.store language.subtract language.sum language.tan language.tanh language.tfloat32 language.tile_size.gemm_moving_fmax
language.tile_size.gemm_stationary_fmax language.tile_size.pmax language.tile_size.psum_fmax
language.tile_size.total_available_sbuf_size language.transpose language.trunc language.uint16 language.uint32 language.uint8
language.var language.where language.while_loop language.zeros language.zeros_like runtime.SpikeModel runtime.SpikeModel.load_from_neff
runtime.SpikeTensor runtime.SpikeTensor.from_numpy simulate
"""
TENSOR = """
ap astype broadcast broadcast_to buffer dtype expand_dim expand_dims flatten_dims get_view itemsize ndim permute rearrange reshape
reshape_dim select shape slice squeeze_dim vector_select view
"""
