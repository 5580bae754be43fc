// expect: group sizes of shape tensor<2x4x3xi64>
func.func @main(%arg0: tensor<2x4x6x5xf32>, %arg1: tensor<2x6x5x7xf32>, %arg2: tensor<2x4x3xi64>) -> tensor<3x2x4x7xf32> {
  %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) {ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2, 3], rhs_contracting_dimensions = [1, 2], lhs_ragged_dimensions = [3], rhs_group_dimensions = []>} : (tensor<2x4x6x5xf32>, tensor<2x6x5x7xf32>, tensor<2x4x3xi64>) -> tensor<3x2x4x7xf32>
  return %0 : tensor<3x2x4x7xf32>
}
