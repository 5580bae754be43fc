// Arrays with no element, made by repeating what has one, through elementwise operators, views and a sum.
module @empty_broadcasts {
  func.func public @main(%a: tensor<i32>, %b: tensor<0xi32>, %c: tensor<2x1xf32>, %d: tensor<1x0xf32>) -> (tensor<1x0xi32>, tensor<2x0xf32>, tensor<2xf32>, tensor<0x2xi1>) {
    %0 = stablehlo.reshape %a : (tensor<i32>) -> tensor<1xi32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<1xi32>) -> tensor<1x1xi32>
    %2 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<0xi32>) -> tensor<1x0xi32>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<1x0xi32>
    %4 = stablehlo.multiply %3, %2 : tensor<1x0xi32>
    %5 = stablehlo.broadcast_in_dim %c, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x0xf32>
    %6 = stablehlo.broadcast_in_dim %d, dims = [0, 1] : (tensor<1x0xf32>) -> tensor<2x0xf32>
    %7 = stablehlo.atan2 %5, %6 : tensor<2x0xf32>
    %zero = stablehlo.constant dense<3.0> : tensor<f32>
    %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x0xf32>, tensor<f32>) -> tensor<2xf32>
    %9 = stablehlo.compare GT, %7, %6 : (tensor<2x0xf32>, tensor<2x0xf32>) -> tensor<2x0xi1>
    %10 = stablehlo.transpose %9, dims = [1, 0] : (tensor<2x0xi1>) -> tensor<0x2xi1>
    return %4, %7, %8, %10 : tensor<1x0xi32>, tensor<2x0xf32>, tensor<2xf32>, tensor<0x2xi1>
  }
}
