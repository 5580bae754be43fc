// Only the values are computed, but the arrays of vectors have the sizes of whole bases.
func.func public @main(%arg0: tensor<4x2xf32>) -> tensor<2xf32> {
  %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%arg0) {mhlo.backend_config = {mode = 78 : ui8}, operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>, dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>]} : (tensor<4x2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>, tensor<4x4xf32>, tensor<2x2xf32>, tensor<i32>)
  return %0#1 : tensor<2xf32>
}
