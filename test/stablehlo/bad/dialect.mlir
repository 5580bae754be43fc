// expect: an operation of the dialect 'tosa'
func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32> {
  %0 = "tosa.abs"(%arg0) : (tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
