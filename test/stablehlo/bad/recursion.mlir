// expect: calls itself
func.func @main(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = call @main(%arg0) : (tensor<f32>) -> tensor<f32>
  return %0 : tensor<f32>
}
