module @m {
  sdy.mesh @mesh = <["x"=1, "y"=1]>
  func.func public @main(%a: tensor<3x2xi8>, %b: tensor<2x4xi8>, %c: tensor<2x3xi64>, %d: tensor<3x4xf16>) -> (tensor<3x4xi16>, tensor<3xi32>, tensor<2x3xf32>, tensor<3x4xf32>) {
    %0 = stablehlo.einsum %a, %b, config = "ab,bc->ac" : (tensor<3x2xi8>, tensor<2x4xi8>) -> tensor<3x4xi16>
    %1 = "stablehlo.unary_einsum"(%a) <{einsum_config = "ab->a"}> : (tensor<3x2xi8>) -> tensor<3xi32>
    %2 = "chlo.constant_like"(%c) <{value = 3.200000e+00 : f32}> : (tensor<2x3xi64>) -> tensor<2x3xf32>
    %3 = sdy.propagation_barrier %d allowed_direction=BACKWARD : tensor<3x4xf16>
    sdy.sharding_group %3 group_id=0 : tensor<3x4xf16>
    %4 = sdy.manual_computation(%3) in_shardings=[<@mesh, [{"x"}, {}], replicated={"y"}>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x", "y"} (%e: tensor<3x4xf16>) {
      %5 = stablehlo.convert %e : (tensor<3x4xf16>) -> tensor<3x4xf32>
      sdy.return %5 : tensor<3x4xf32>
    } : (tensor<3x4xf16>) -> tensor<3x4xf32>
    %6 = sdy.named_computation<"f">(%4) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>] (%e: tensor<3x4xf32>) {
      %7 = sdy.all_gather [{}, {}] %e out_sharding=<@mesh, [{}, {}]> : tensor<3x4xf32>
      %8 = stablehlo.negate %7 : tensor<3x4xf32>
      sdy.return %8 : tensor<3x4xf32>
    } : (tensor<3x4xf32>) -> tensor<3x4xf32>
    return %0, %1, %2, %6 : tensor<3x4xi16>, tensor<3xi32>, tensor<2x3xf32>, tensor<3x4xf32>
  }
}
