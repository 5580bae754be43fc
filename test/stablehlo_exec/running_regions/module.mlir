module {
  func.func @main(%x: tensor<3x6x2xf32>, %c: tensor<3x6x2xf32>) -> (tensor<3x6x2xf32>, tensor<3x6x2xf32>, tensor<3x6x2xf32>, tensor<3x6x2xf32>) {
    %low = stablehlo.constant dense<-1.0e+30> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%x, %low) <{padding = dense<[[0, 0], [5, 0], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 6, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      %l = stablehlo.minimum %a, %b : tensor<f32>
      %d = stablehlo.subtract %l, %m : tensor<f32>
      %e = stablehlo.exponential %d : tensor<f32>
      %p = stablehlo.log_plus_one %e : tensor<f32>
      %s = stablehlo.add %m, %p : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3x6x2xf32>, tensor<f32>) -> tensor<3x6x2xf32>
    %1 = "stablehlo.reduce_window"(%x, %low) <{padding = dense<[[0, 0], [0, 5], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 6, 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      %l = stablehlo.minimum %a, %b : tensor<f32>
      %d = stablehlo.subtract %l, %m : tensor<f32>
      %e = stablehlo.exponential %d : tensor<f32>
      %p = stablehlo.log_plus_one %e : tensor<f32>
      %s = stablehlo.add %m, %p : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3x6x2xf32>, tensor<f32>) -> tensor<3x6x2xf32>
    %2:2 = "stablehlo.reduce_window"(%x, %c, %zero, %zero) <{padding = dense<[[0, 0], [5, 0], [0, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 6, 1>}> ({
    ^bb0(%a: tensor<f32>, %n: tensor<f32>, %b: tensor<f32>, %m: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      %t = stablehlo.add %n, %m : tensor<f32>
      stablehlo.return %s, %t : tensor<f32>, tensor<f32>
    }) : (tensor<3x6x2xf32>, tensor<3x6x2xf32>, tensor<f32>, tensor<f32>) -> (tensor<3x6x2xf32>, tensor<3x6x2xf32>)
    return %0, %1, %2#0, %2#1 : tensor<3x6x2xf32>, tensor<3x6x2xf32>, tensor<3x6x2xf32>, tensor<3x6x2xf32>
  }
}
