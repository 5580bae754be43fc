module @m {
  sdy.mesh @mesh = <["x"=1]>
  func.func public @main(%x: tensor<4x5xf32>) -> tensor<4x5xf32> {
    %0 = sdy.constant dense<2> : tensor<i32>
    %1 = sdy.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
    %2 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.5> : tensor<4x5xf32>
    %3 = stablehlo.multiply %x, %2 : tensor<4x5xf32>
    %4 = stablehlo.dynamic_update_slice %3, %1, %0, %0 : (tensor<4x5xf32>, tensor<2x2xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>
    return %4 : tensor<4x5xf32>
  }
}
