// Functions of CHLO.
func.func @main(%x: tensor<6xf64>, %u: tensor<6xf64>) -> (tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>) {
  %0 = chlo.lgamma %x : tensor<6xf64> -> tensor<6xf64>
  %1 = chlo.digamma %x : tensor<6xf64> -> tensor<6xf64>
  %2 = chlo.erf_inv %u : tensor<6xf64> -> tensor<6xf64>
  %3 = chlo.erfc %x : tensor<6xf64> -> tensor<6xf64>
  %4 = chlo.bessel_i1e %x : tensor<6xf64> -> tensor<6xf64>
  %5 = stablehlo.abs %x : tensor<6xf64>
  %one = stablehlo.constant dense<1.5> : tensor<f64>
  %6 = chlo.broadcast_add %5, %one : (tensor<6xf64>, tensor<f64>) -> tensor<6xf64>
  %7 = chlo.zeta %6, %5 : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>
  %two = stablehlo.constant dense<2.0> : tensor<6xf64>
  %8 = chlo.polygamma %two, %5 : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>
  %9 = chlo.next_after %u, %5 : tensor<6xf64>, tensor<6xf64> -> tensor<6xf64>
  return %0, %1, %2, %3, %4, %7, %8, %9 : tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>, tensor<6xf64>
}
