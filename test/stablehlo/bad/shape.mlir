// expect: from model.py:7: the result is tensor<3xf32>
func.func @main(%arg0: tensor<2x3xf32>) -> tensor<3xf32> {
  %0 = "stablehlo.transpose"(%arg0) {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3xf32> loc("model.py":7:2)
  return %0 : tensor<3xf32>
}
