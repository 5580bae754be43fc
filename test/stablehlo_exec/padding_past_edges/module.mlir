// Padding whose other end is cut by more than the operand has: the border fills the result, and nothing of the operand is left.
func.func @main(%a: tensor<1x3xi1>, %b: tensor<4x5xf32>) -> (tensor<2x1xi1>, tensor<2x5xf32>, tensor<3x5xf32>, tensor<4x2xf32>) {
  %c = stablehlo.constant dense<true> : tensor<i1>
  %f = stablehlo.constant dense<2.0> : tensor<f32>
  %0 = stablehlo.pad %a, %c, low = [3, -2], high = [-2, 0], interior = [0, 0] : (tensor<1x3xi1>, tensor<i1>) -> tensor<2x1xi1>
  %1 = stablehlo.pad %b, %f, low = [4, 0], high = [-6, 0], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<2x5xf32>
  %2 = stablehlo.pad %b, %f, low = [-6, 1], high = [5, -1], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<3x5xf32>
  %3 = stablehlo.pad %b, %f, low = [1, 4], high = [-1, -7], interior = [0, 0] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x2xf32>
  return %0, %1, %2, %3 : tensor<2x1xi1>, tensor<2x5xf32>, tensor<3x5xf32>, tensor<4x2xf32>
}
