module {
  func.func @main(%arg0: tensor<3x16xi1>, %arg1: tensor<2xf32>, %arg2: tensor<64xi1>) -> (tensor<3xi16>, tensor<2x32xi1>, tensor<f64>) {
    %0 = stablehlo.bitcast_convert %arg0 : (tensor<3x16xi1>) -> tensor<3xi16>
    %1 = stablehlo.bitcast_convert %arg1 : (tensor<2xf32>) -> tensor<2x32xi1>
    %2 = stablehlo.bitcast_convert %arg2 : (tensor<64xi1>) -> tensor<f64>
    return %0, %1, %2 : tensor<3xi16>, tensor<2x32xi1>, tensor<f64>
  }
}
