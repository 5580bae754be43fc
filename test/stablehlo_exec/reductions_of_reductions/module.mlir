// Largest sums of columns and of rows, where the elements are wanted too: a reduction of what a reduction gives.
func.func @main(%x: tensor<6x5xf32>) -> (tensor<f32>, tensor<f32>, tensor<6x5xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.multiply %x, %x : tensor<6x5xf32>
  %columns = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6x5xf32>, tensor<f32>) -> tensor<5xf32>
  %a = stablehlo.reduce(%columns init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  %rows = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<6x5xf32>, tensor<f32>) -> tensor<6xf32>
  %b = stablehlo.reduce(%rows init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<6xf32>, tensor<f32>) -> tensor<f32>
  %z = stablehlo.abs %x : tensor<6x5xf32>
  %sums = stablehlo.reduce(%z init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<6x5xf32>, tensor<f32>) -> tensor<5xf32>
  %c = stablehlo.reduce(%sums init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
  return %a, %b, %y, %c : tensor<f32>, tensor<f32>, tensor<6x5xf32>, tensor<f32>
}
