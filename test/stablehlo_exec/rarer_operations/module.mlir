// Operations that frameworks seldom leave in a module: what arcsine and arccosine share, the older form of
// all_reduce, and complex numbers between bounds, by their real parts first.
func.func @main(%z: tensor<6xcomplex<f32>>, %x: tensor<4xf32>, %low: tensor<complex<f32>>, %high: tensor<complex<f32>>) -> (tensor<6xcomplex<f32>>, tensor<4xf32>, tensor<6xcomplex<f32>>) {
  %0 = chlo._asin_acos_kernel %z : tensor<6xcomplex<f32>> -> tensor<6xcomplex<f32>>
  %1 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
  %2 = stablehlo.clamp %low, %z, %high : (tensor<complex<f32>>, tensor<6xcomplex<f32>>, tensor<complex<f32>>) -> tensor<6xcomplex<f32>>
  return %0, %1, %2 : tensor<6xcomplex<f32>>, tensor<4xf32>, tensor<6xcomplex<f32>>
}
