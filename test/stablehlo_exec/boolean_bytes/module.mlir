// Booleans in hexadecimal: a byte each, as MLIR prints them now; packed into bits; one byte for all.
module {
  func.func @main(%arg0: tensor<20xi1>) -> (tensor<20xi1>, tensor<13xi1>, tensor<9xi1>, tensor<i1>, tensor<200xi1>) {
    %0 = stablehlo.constant dense<"0x0100000100000100000100000100000100000100"> : tensor<20xi1>
    %1 = stablehlo.constant dense<"0x2202"> : tensor<13xi1>
    %2 = stablehlo.constant dense<"0xFF"> : tensor<9xi1>
    %3 = stablehlo.constant dense<"0x01"> : tensor<i1>
    %5 = stablehlo.constant dense<"0x01"> : tensor<200xi1>
    %4 = stablehlo.xor %0, %arg0 : tensor<20xi1>
    return %4, %1, %2, %3, %5 : tensor<20xi1>, tensor<13xi1>, tensor<9xi1>, tensor<i1>, tensor<200xi1>
  }
}
