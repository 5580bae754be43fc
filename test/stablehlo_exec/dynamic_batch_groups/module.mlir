// A convolution in batch groups, and one without spatial dims in feature groups, of a batch whose size is known only while running.
func.func @main(%x: tensor<?x5x3xf32>, %w: tensor<3x3x4xf32>, %y: tensor<?x4xf32>, %m: tensor<2x6xf32>) -> (tensor<?x5x4xf32>, tensor<?x6xf32>) {
  %0 = stablehlo.convolution(%x, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {pad = [[1, 1]]} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<?x5x3xf32>, tensor<3x3x4xf32>) -> tensor<?x5x4xf32>
  %1 = stablehlo.convolution(%y, %m) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<?x4xf32>, tensor<2x6xf32>) -> tensor<?x6xf32>
  return %0, %1 : tensor<?x5x4xf32>, tensor<?x6xf32>
}
