module @m {
  func.func public @main(%x: tensor<4x5xf32>, %s: tensor<3x4xf32>, %i: tensor<f32>) -> (tensor<4x5xf32>, tensor<4x5xf32>) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %half = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare GE, %a, %cst : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.multiply %a, %half : tensor<f32>
      %2 = stablehlo.subtract %1, %b : tensor<f32>
      stablehlo.return %2 : tensor<f32>
    }) : (tensor<4x5xf32>, tensor<3x4xf32>, tensor<f32>) -> tensor<4x5xf32>
    %3 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.subtract %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4x5xf32>, tensor<3x4xf32>, tensor<f32>) -> tensor<4x5xf32>
    return %0, %3 : tensor<4x5xf32>, tensor<4x5xf32>
  }
}
