// broadcast, dot, einsum, unary_einsum, torch_index_select: older operations; mhlo.topk, the call that came before chlo.top_k.
func.func @main(%x: tensor<2x3xf32>, %i: tensor<2xi32>) -> (tensor<2x2x3xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x1xf32>) {
  %0 = stablehlo.broadcast %x, sizes = [2] : (tensor<2x3xf32>) -> tensor<2x2x3xf32>
  %t = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.dot %x, %t : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %2 = stablehlo.einsum %x, %x, config = "ab,cb->bc" : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<3x2xf32>
  %3 = stablehlo.unary_einsum %x, config = "ab->b" : (tensor<2x3xf32>) -> tensor<3xf32>
  %4 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> : (tensor<2x3xf32>, tensor<2xi32>) -> tensor<2x2xf32>
  %5:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  %6:2 = stablehlo.custom_call @mhlo.topk(%x) {mhlo.attributes = {k = 1 : i64, largest = false}, mhlo.version = 1 : i64} : (tensor<2x3xf32>) -> (tensor<2x1xf32>, tensor<2x1xi32>)
  return %0, %1, %2, %3, %4, %5#0, %5#1, %6#0 : tensor<2x2x3xf32>, tensor<2x2xf32>, tensor<3x2xf32>, tensor<3xf32>, tensor<2x2xf32>, tensor<2x2xf32>, tensor<2x2xi32>, tensor<2x1xf32>
}
