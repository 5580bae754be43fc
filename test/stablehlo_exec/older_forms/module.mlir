// broadcast, dot, einsum, unary_einsum, torch_index_select: older operations.
func.func @main(%x: tensor<2x3xf32>, %i: tensor<2xi32>) -> (tensor<2x2x3xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<2x2xf32>) {
  %0 = stablehlo.broadcast %x, sizes = [2] : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.dot %x, %t : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.einsum %x, %x, config = "ab,cb->bc" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = stablehlo.unary_einsum %x, config = "ab->b" : (tensor<2x3xf32>) -> tensor<3xf32>
  %4 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  return %0, %1, %2, %3, %4 : tensor<2x2x3xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<2x2xf32>
}
