module {
  func.func @main(%arg0: tensor<4x5xf32>, %arg1: tensor<i32>, %arg2: tensor<2xi64>) -> (tensor<4xf32>, tensor<i32>, tensor<?x?xi1>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %low = stablehlo.constant dense<2.0> : tensor<f32>
    %high = stablehlo.constant dense<3.0> : tensor<f32>
    %0 = stablehlo.set_dimension_size %arg0, %arg1, dim = 1 : (tensor<4x5xf32>, tensor<i32>) -> tensor<4x?xf32, #stablehlo.bounds<?, 5>>
    %1 = stablehlo.add %0, %0 : tensor<4x?xf32, #stablehlo.bounds<?, 128>>
    %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x?xf32, #stablehlo.bounds<?, 5>>, tensor<f32>) -> tensor<4xf32>
    %3 = stablehlo.get_dimension_size %1, dim = 1 : (tensor<4x?xf32, #stablehlo.bounds<?, 5>>) -> tensor<i32>
    %4 = "stablehlo.rng"(%low, %high, %arg2) {rng_tidsribution = #stablehlo<rng_distribution UNIFORM>} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
    %5 = stablehlo.floor %4 : tensor<?x?xf32>
    %6 = stablehlo.dynamic_broadcast_in_dim %low, %arg2, dims = [] : (tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>
    %7 = stablehlo.compare EQ, %5, %6 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xi1>
    return %2, %3, %7 : tensor<4xf32>, tensor<i32>, tensor<?x?xi1>
  }
}
