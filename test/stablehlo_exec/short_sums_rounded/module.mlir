module {
  func.func @main(%arg0: tensor<16x3xbf16>, %arg1: tensor<4x5xcomplex<f32>>, %arg2: tensor<5x2xcomplex<f32>>) -> (tensor<16x3xbf16>, tensor<4x2xcomplex<f32>>) {
    %cst = stablehlo.constant dense<0.0> : tensor<bf16>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[15, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 16, 1>}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %2 = stablehlo.add %a, %b : tensor<bf16>
      stablehlo.return %2 : tensor<bf16>
    }) : (tensor<16x3xbf16>, tensor<bf16>) -> tensor<16x3xbf16>
    %1 = stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (tensor<4x5xcomplex<f32>>, tensor<5x2xcomplex<f32>>) -> tensor<4x2xcomplex<f32>>
    return %0, %1 : tensor<16x3xbf16>, tensor<4x2xcomplex<f32>>
  }
}
