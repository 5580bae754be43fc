// A loop whose body is run step by step between short ones: the window's additions are kernels of sizes known only
// then, and take more room than what was bound before.
module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3x7x3xf32>) -> (tensor<3x7x3xf32> {jax.result_info = "result[0]"}) {
    %cst = stablehlo.constant dense<"0x0000803E0000C03F000040C00000803F000030400000304000000000000000C00000204000000040000010C00000C03F0000803E0000A0BF0000403F0000803E00000000000020C0000030C000001040000080BF0000E0BF000010C00000C03F0000403F000020C00000E0BF000000000000003F000010C0000080BE0000E03F0000C0BF00003040000080BF00000000000080BF000040400000803F000040BF000040C0000020400000803E0000E03F0000E0BF0000000000001040000000000000E0BF0000803F0000803E000040C000000040000010C00000C03F0000C0BF000000C0000010400000403F0000E0BF000040C00000E0BF000040C00000803F000010400000003F000000C00000803E000020400000403F0000C03F0000C0BF0000403F0000A0BF0000403F000010400000003F0000A03F0000A03F000040BF000040C0000030C00000E0BF000030C00000E03F0000803E0000C0BF000010C00000E0BF000010400000403F0000E03F000030C0000030C00000003F000010C0000000BF0000A0BF000000C00000A03F000040BF000000BF00000000000040400000C0BF0000E0BF0000A0BF000080BE00000000000000400000003F000000400000403F000010C00000803E000000BF0000C0BF000000400000E0BF0000403F0000C0BF00003040000040BF0000C03F000000000000C0BF00003040000080BF00002040000080BE000000000000403F000040BF0000A0BF000020C00000803E0000C03F000030C0000000C0000040C00000003F00004040000000C00000C0BF0000403F0000A03F00004040000040C00000A0BF0000A03F000030C0000040C0000040400000803E000000C0000020C0000020C0000040400000C0BF0000E03F00000000000030C00000803F000000400000404000001040000040BF00002040000000C00000A0BF00003040000010C0000080BE0000A03F00000000000040BF000000000000404000000000000020400000E03F0000E03F00004040000040BF0000A03F0000803F000000C0000040C0000040C000003040000040BF000040400000003F000040400000E0BF0000803F000040400000803E000020400000C03F0000000000001040000080BE0000E03F000000400000803F0000A03F0000803E0000104000002040000040C00000C03F00001040000000BF000040400000403F00003040000080BE000040BF000000BF00003040000020400000003F000010C000003040000040C0000010C00000004000003040000080BF0000C0BF00004040000020400000A0BF000010C0000000C0000000000000003F0000404000004040000030C0000020400000803F000020400000A03F000080BE000030400000C0BF0000403F000010C00000C03F0000A03F000020400000104000000000000030400000204000000000000040BF000030C00000803F00001040000020C000003040000020C0000000C00000003F0000E03F000040C00000E03F00002040000000400000003F0000A0BF0000E0BF000000000000A0BF0000C0BF000000BF000020400000E03F0000A0BF000010C0000080BF000000C0000040C00000003F000010C0000010400000403F000080BE0000C03F0000A0BF00001040000000C0000000000000A03F000000BF000000C0000000BF0000C03F000010C00000803F0000E03F000030C00000104000000000000000BF0000C0BF000080BF0000E0BF0000404000003040000000400000003F0000803F000020C00000A0BF0000803F0000A0BF000010400000E0BF00003040000020C00000A03F00001040000000C000001040000030C0000030400000A0BF000030C0000000BF0000E03F000080BE0000803E000010C0000030C00000C0BF000000BF0000803E000000BF0000003F000080BF0000004000003040000030C00000A0BF00004040000000000000C0BF000030C00000803E000040400000803E00003040000010C0000040400000A03F0000A0BF"> : tensor<3x3x5x8xf32>
    %c = stablehlo.constant dense<0> : tensor<i64>
    %0:3 = stablehlo.while(%iterArg = %cst, %iterArg_0 = %c, %iterArg_1 = %arg0) : tensor<3x3x5x8xf32>, tensor<i64>, tensor<3x7x3xf32>
    cond {
      %c_2 = stablehlo.constant dense<3> : tensor<i64>
      %1 = stablehlo.compare LT, %iterArg_0, %c_2, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @closed_call(%iterArg, %iterArg_1) : (tensor<3x3x5x8xf32>, tensor<3x7x3xf32>) -> tensor<3x7x3xf32>
      %c_2 = stablehlo.constant dense<1> : tensor<i64>
      %2 = stablehlo.add %iterArg_0, %c_2 : tensor<i64>
      stablehlo.return %iterArg, %2, %1 : tensor<3x3x5x8xf32>, tensor<i64>, tensor<3x7x3xf32>
    }
    return %0#2 : tensor<3x7x3xf32>
  }
  func.func private @closed_call(%arg0: tensor<3x3x5x8xf32>, %arg1: tensor<3x7x3xf32>) -> tensor<3x7x3xf32> {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1, 0] x [0, 2], precision = [DEFAULT, DEFAULT] : (tensor<3x3x5x8xf32>, tensor<3x7x3xf32>) -> tensor<5x8x7xf32>
    %1 = call @cumlogsumexp(%0) : (tensor<5x8x7xf32>) -> tensor<5x8x7xf32>
    %2 = stablehlo.reshape %1 : (tensor<5x8x7xf32>) -> tensor<280xf32>
    %3 = call @resize(%2) : (tensor<280xf32>) -> tensor<3x7x3xf32>
    %4 = stablehlo.is_finite %3 : (tensor<3x7x3xf32>) -> tensor<3x7x3xi1>
    %c = stablehlo.constant dense<-4> : tensor<i64>
    %c_0 = stablehlo.constant dense<4> : tensor<i64>
    %5 = call @clip(%3, %c, %c_0) : (tensor<3x7x3xf32>, tensor<i64>, tensor<i64>) -> tensor<3x7x3xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i64>
    %6 = call @_where(%4, %5, %c_1) : (tensor<3x7x3xi1>, tensor<3x7x3xf32>, tensor<i64>) -> tensor<3x7x3xf32>
    return %6 : tensor<3x7x3xf32>
  }
  func.func private @cumlogsumexp(%arg0: tensor<5x8x7xf32>) -> tensor<5x8x7xf32> {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = "stablehlo.reduce_window"(%arg0, %cst) <{base_dilations = array<i64: 1, 1, 1>, padding = dense<[[0, 0], [0, 0], [6, 0]]> : tensor<3x2xi64>, window_dilations = array<i64: 1, 1, 1>, window_dimensions = array<i64: 1, 1, 7>, window_strides = array<i64: 1, 1, 1>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      %2 = stablehlo.subtract %arg1, %arg2 : tensor<f32>
      %3 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.add %arg1, %arg2 : tensor<f32>
      %5 = stablehlo.abs %2 : tensor<f32>
      %6 = stablehlo.negate %5 : tensor<f32>
      %7 = stablehlo.exponential %6 : tensor<f32>
      %8 = stablehlo.log_plus_one %7 : tensor<f32>
      %9 = stablehlo.add %1, %8 : tensor<f32>
      %10 = stablehlo.select %3, %4, %9 : tensor<i1>, tensor<f32>
      stablehlo.return %10 : tensor<f32>
    }) : (tensor<5x8x7xf32>, tensor<f32>) -> tensor<5x8x7xf32>
    return %0 : tensor<5x8x7xf32>
  }
  func.func private @resize(%arg0: tensor<280xf32>) -> tensor<3x7x3xf32> {
    %0 = stablehlo.reshape %arg0 : (tensor<280xf32>) -> tensor<1x280xf32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [0, 1] : (tensor<1x280xf32>) -> tensor<1x280xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x280xf32>) -> tensor<280xf32>
    %3 = stablehlo.slice %2 [0:63] : (tensor<280xf32>) -> tensor<63xf32>
    %4 = stablehlo.reshape %3 : (tensor<63xf32>) -> tensor<3x7x3xf32>
    return %4 : tensor<3x7x3xf32>
  }
  func.func private @clip(%arg0: tensor<3x7x3xf32>, %arg1: tensor<i64>, %arg2: tensor<i64>) -> tensor<3x7x3xf32> {
    %0 = stablehlo.convert %arg1 : (tensor<i64>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x7x3xf32>
    %2 = stablehlo.maximum %1, %arg0 : tensor<3x7x3xf32>
    %3 = stablehlo.convert %arg2 : (tensor<i64>) -> tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<3x7x3xf32>
    %5 = stablehlo.minimum %4, %2 : tensor<3x7x3xf32>
    return %5 : tensor<3x7x3xf32>
  }
  func.func private @_where(%arg0: tensor<3x7x3xi1>, %arg1: tensor<3x7x3xf32>, %arg2: tensor<i64>) -> tensor<3x7x3xf32> {
    %0 = stablehlo.convert %arg2 : (tensor<i64>) -> tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3x7x3xf32>
    %2 = stablehlo.select %arg0, %arg1, %1 : tensor<3x7x3xi1>, tensor<3x7x3xf32>
    return %2 : tensor<3x7x3xf32>
  }
}
