// expect: argument 0 of its region is tensor<6xf32>, which is no part of the window
func.func @main(%arg0: tensor<6xf32>, %arg1: tensor<6xf32>) -> tensor<5xf32> {
  %0 = "stablehlo.reduce_window"(%arg0, %arg1) ({
  ^bb0(%a: tensor<6xf32>, %b: tensor<6xf32>):
    %1 = stablehlo.add %a, %b : tensor<6xf32>
    "stablehlo.return"(%1) : (tensor<6xf32>) -> ()
  }) {window_dimensions = array<i64: 2>} : (tensor<6xf32>, tensor<6xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}
