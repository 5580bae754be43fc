// Batch normalisation, its training form and its gradient, of a batch whose size is known only while running.
func.func @main(%x: tensor<?x3x2xf32>, %scale: tensor<3xf32>, %variance: tensor<3xf32>) -> (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %scale, %scale) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  %1:3 = "stablehlo.batch_norm_grad"(%x, %scale, %scale, %variance, %x) <{epsilon = 1.0e-3 : f32, feature_index = 1 : i64}> : (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?x3x2xf32>) -> (tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2 : tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?x3x2xf32>, tensor<3xf32>, tensor<3xf32>
}
