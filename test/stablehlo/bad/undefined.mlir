// expect: value '%1' is used, but not defined before
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %arg0, %1 : tensor<2xf32>
  return %0 : tensor<2xf32>
}
