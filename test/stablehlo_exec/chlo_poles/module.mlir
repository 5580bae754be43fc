// Zeta and polygamma at their poles, where even powers agree on an infinity and odd ones do not; digamma beside 0.
func.func @main(%s: tensor<8xf64>, %q: tensor<8xf64>, %x: tensor<4xf64>) -> (tensor<8xf64>, tensor<8xf64>, tensor<4xf64>) {
  %0 = chlo.zeta %s, %q : tensor<8xf64>, tensor<8xf64> -> tensor<8xf64>
  %1 = chlo.polygamma %s, %q : tensor<8xf64>, tensor<8xf64> -> tensor<8xf64>
  %2 = chlo.digamma %x : tensor<4xf64> -> tensor<4xf64>
  return %0, %1, %2 : tensor<8xf64>, tensor<8xf64>, tensor<4xf64>
}
