module @m {
  func.func public @main(%a: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.sine %a : tensor<3xf32>
    stablehlo.custom_call @dce_sink(%0) {has_side_effect = true, api_version = 4 : i32} : (tensor<3xf32>) -> ()
    %1 = stablehlo.add %a, %a : tensor<3xf32>
    return %1 : tensor<3xf32>
  }
}
