// Truth values are clamped as numbers are, by scalars and by arrays, and constant_like makes them too.
func.func @main(%low: tensor<i1>, %x: tensor<6xi1>, %high: tensor<6xi1>) -> (tensor<6xi1>, tensor<6xi1>, tensor<6xi1>) {
  %0 = stablehlo.clamp %low, %x, %low : (tensor<i1>, tensor<6xi1>, tensor<i1>) -> tensor<6xi1>
  %1 = stablehlo.clamp %x, %high, %x : tensor<6xi1>
  %2 = "chlo.constant_like"(%x) {value = true} : (tensor<6xi1>) -> tensor<6xi1>
  %3 = stablehlo.not %high : tensor<6xi1>
  %4 = stablehlo.clamp %3, %2, %high : tensor<6xi1>
  return %0, %1, %4 : tensor<6xi1>, tensor<6xi1>, tensor<6xi1>
}
