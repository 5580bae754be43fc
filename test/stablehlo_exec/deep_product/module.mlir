// A product of 13 dims, which nothing looks at: they are merged, or summed. More than 12 is too many for a value.
func.func @main(%a: tensor<2x3x1x2x1x1x2xf32>, %b: tensor<2x1x3x1x1x1x2x1xf32>) -> (tensor<12x6xf32>, tensor<f32>, tensor<f32>) {
  %p = stablehlo.dot_general %a, %b, contracting_dims = [0] x [0] : (tensor<2x3x1x2x1x1x2xf32>, tensor<2x1x3x1x1x1x2x1xf32>) -> tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %h = stablehlo.broadcast_in_dim %half, dims = [] : (tensor<f32>) -> tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>
  %q = stablehlo.multiply %p, %h : tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>
  %c = stablehlo.compare GT, %q, %h : (tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>, tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>) -> tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xi1>
  %t = stablehlo.tanh %q : tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>
  %s = stablehlo.select %c, %t, %q : tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xi1>, tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>
  %m = stablehlo.reshape %s : (tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>) -> tensor<12x6xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] : (tensor<3x1x2x1x1x2x1x3x1x1x1x2x1xf32>, tensor<f32>) -> tensor<f32>
  %again = stablehlo.reshape %m : (tensor<12x6xf32>) -> tensor<6x1x2x1x1x1x1x3x1x1x1x2x1xf32>
  %max = stablehlo.reduce(%again init: %zero) applies stablehlo.maximum across dimensions = [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0] : (tensor<6x1x2x1x1x1x1x3x1x1x1x2x1xf32>, tensor<f32>) -> tensor<f32>
  return %m, %sum, %max : tensor<12x6xf32>, tensor<f32>, tensor<f32>
}
