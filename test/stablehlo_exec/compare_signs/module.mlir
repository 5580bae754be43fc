module @m {
  func.func public @main(%a: tensor<4xi32>, %b: tensor<4xi32>, %c: tensor<4xui8>, %d: tensor<4xui8>) -> (tensor<4xi1>, tensor<4xi1>, tensor<4xi1>) {
    %0 = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    %1 = stablehlo.compare LE, %c, %d, SIGNED : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xi1>
    %2 = stablehlo.compare GT, %a, %b, SIGNED : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi1>
    return %0, %1, %2 : tensor<4xi1>, tensor<4xi1>, tensor<4xi1>
  }
}
