// Paddings that only running tells: interior ones too, negative ones, of nothing; a convolution of a dilated input.
module {
  func.func @main(%x: tensor<2x3xf32>, %low: tensor<2xi64>, %high: tensor<2xi64>, %between: tensor<2xi64>, %none: tensor<2x0xi32>, %sides: tensor<1x2xi64>)
      -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>, tensor<1x1x?xf32>) {
    %v = stablehlo.constant dense<7.0> : tensor<f32>
    %n = stablehlo.constant dense<-1> : tensor<i32>
    %known = stablehlo.constant dense<[0, 2]> : tensor<2xi64>
    %zero = stablehlo.constant dense<0> : tensor<2xi64>
    %0 = stablehlo.dynamic_pad %x, %v, %low, %high, %between : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %1 = stablehlo.dynamic_pad %x, %v, %low, %high, %known : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %2 = stablehlo.dynamic_pad %x, %v, %zero, %high, %zero : (tensor<2x3xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %3 = stablehlo.dynamic_pad %none, %n, %low, %high, %between : (tensor<2x0xi32>, tensor<i32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xi32>
    %4 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<1x1x6xf32>
    %w = stablehlo.constant dense<[[[1.0, 10.0, 100.0]]]> : tensor<1x1x3xf32>
    %5 = "stablehlo.dynamic_conv"(%4, %w, %sides) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f, 0]x[o, i, 0]->[b, f, 0]>,
      feature_group_count = 1 : i64, lhs_dilation = array<i64: 2>, window_strides = array<i64: 2>}> : (tensor<1x1x6xf32>, tensor<1x1x3xf32>, tensor<1x2xi64>) -> tensor<1x1x?xf32>
    return %0, %1, %2, %3, %5 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi32>, tensor<1x1x?xf32>
  }
}
