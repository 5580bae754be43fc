// expect: operand 0 has 4 slices, expected 5
func.func @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2xf32>) -> tensor<4x2xf32> {
  %0, %1 = chlo.scan (%arg0) inits (%arg1) dimension = 0 attributes {scan_dim_size = 5 : i64} {
  ^bb0(%x: tensor<2xf32>, %c: tensor<2xf32>):
    %2 = stablehlo.multiply %x, %c : tensor<2xf32>
    stablehlo.return %2, %2 : tensor<2xf32>, tensor<2xf32>
  } : (tensor<4x2xf32>, tensor<2xf32>) -> (tensor<4x2xf32>, tensor<2xf32>)
  return %0 : tensor<4x2xf32>
}
