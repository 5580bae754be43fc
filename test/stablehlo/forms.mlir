// Every operation with a spelling of its own, once.
#conv = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>
!matrix = tensor<2x3xf32>
module @forms attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @one = <["x"=1]> {stablehlo.mesh = {axes = ["x"], device_ids = dense<0> : tensor<1xi64>}}
  func.func public @main(%arg0: !matrix {jax.buffer_donor = true} loc("x"), %arg1: tensor<2x3xf32> loc("y")) -> (tensor<2x3xf32> {jax.result_info = "sum"}, tensor<2x3xi1>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32> loc(#add)
    %1 = stablehlo.compare  LT, %arg0, %arg1,  TOTALORDER : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %2 = stablehlo.select %1, %arg0, %0 : tensor<2x3xi1>, tensor<2x3xf32>
    %cst = stablehlo.constant dense<[[1.0, 2.5, 0xFF800000], [-1.0e-3, 4.0, 5.0]]> : tensor<2x3xf32>
    %3 = stablehlo.transpose %cst, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
    %4 = stablehlo.dot_general %2, %3, contracting_dims = [1] x [0], precision = [HIGHEST, DEFAULT] : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %5 = stablehlo.slice %4 [0:2, 0:2:2] : (tensor<2x2xf32>) -> tensor<2x1xf32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %7 = stablehlo.pad %6, %zero, low = [0, 1], high = [0, -1], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %8 = stablehlo.reduce(%7 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %9 = stablehlo.iota dim = 0 : tensor<2xi32>
    %minus = stablehlo.constant dense<-1> : tensor<i32>
    %10:2 = stablehlo.reduce(%8 init: %zero), (%9 init: %minus) across dimensions = [0] : (tensor<2xf32>, tensor<2xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>)  {
      %g = stablehlo.compare GT, %a, %b, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %v = stablehlo.select %g, %a, %b : tensor<i1>, tensor<f32>
      %k = stablehlo.select %g, %i, %j : tensor<i1>, tensor<i32>
      stablehlo.return %v, %k : tensor<f32>, tensor<i32>
    }
    %11:2 = stablehlo.while(%n = %10#1, %s = %10#0) : tensor<i32>, tensor<f32>
     cond {
      %limit = stablehlo.constant dense<3> : tensor<i32>
      %more = stablehlo.compare LT, %n, %limit, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n1 = stablehlo.add %n, %one : tensor<i32>
      %s1 = stablehlo.add %s, %10#0 : tensor<f32>
      stablehlo.return %n1, %s1 : tensor<i32>, tensor<f32>
    }
    %yes = stablehlo.constant dense<true> : tensor<i1>
    %12 = "stablehlo.if"(%yes) ({
      stablehlo.return %11#1 : tensor<f32>
    }, {
      %neg = stablehlo.negate %11#1 : tensor<f32>
      stablehlo.return %neg : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    %13 = stablehlo.reshape %0 : (tensor<2x3xf32>) -> tensor<2x3x1xf32>
    %w = stablehlo.constant dense<1.0> : tensor<2x1x4xf32>
    %14 = stablehlo.convolution(%13, %w) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {stride = [1], pad = [[0, 1]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x3x1xf32>, tensor<2x1x4xf32>) -> tensor<2x3x4xf32>
    %15 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{replicated}"} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %16 = stablehlo.composite "own.twice" %15 {decomposition = @twice, version = 1 : i32} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %17:2 = call @both(%16, %arg1) : (tensor<2x3xf32>, tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>)
    %18 = stablehlo.clamp %zero, %17#0, %12 : (tensor<f32>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
    %19 = stablehlo.reduce_precision %18, format = e5m10 : tensor<2x3xf32>
    %20 = stablehlo.reverse %19, dims = [0, 1] : tensor<2x3xf32>
    %21 = stablehlo.concatenate %20, %17#1, dim = 0 : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<4x3xf32>
    %22 = stablehlo.dynamic_slice %21, %minus, %minus, sizes = [2, 3] : (tensor<4x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
    %23 = stablehlo.dynamic_update_slice %21, %22, %minus, %minus : (tensor<4x3xf32>, tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<4x3xf32>
    %24 = stablehlo.complex %22, %22 : tensor<2x3xcomplex<f32>>
    %25 = stablehlo.fft %24, type = FFT, length = [3] : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xcomplex<f32>>
    %26 = stablehlo.real %25 : (tensor<2x3xcomplex<f32>>) -> tensor<2x3xf32>
    %27 = stablehlo.tuple %26, %1 : tuple<tensor<2x3xf32>, tensor<2x3xi1>>
    %28 = stablehlo.get_tuple_element %27[0] : (tuple<tensor<2x3xf32>, tensor<2x3xi1>>) -> tensor<2x3xf32>
    %29 = stablehlo.optimization_barrier %28 : tensor<2x3xf32>
    %30 = stablehlo.convert %29 : (tensor<2x3xf32>) -> tensor<2x3xbf16>
    %31 = stablehlo.exponential %30 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 0.000000e+00, ulps = 1, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3xbf16>
    %32 = stablehlo.convert %31 : (tensor<2x3xbf16>) -> tensor<2x3xf32>
    %values, %indices = chlo.top_k(%32, k = 2) : tensor<2x3xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
    %33 = chlo.erf %32 : tensor<2x3xf32> -> tensor<2x3xf32>
    %34 = stablehlo.einsum %33, %3, config = "ab,bc->ac" : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
    %35 = stablehlo.cholesky %34, lower = true : tensor<2x2xf32>
    %size = stablehlo.get_dimension_size %35, dim = 0 : (tensor<2x2xf32>) -> tensor<i32>
    return %33, %1 : tensor<2x3xf32>, tensor<2x3xi1>
  }
  func.func private @twice(%arg0: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %0 = stablehlo.add %arg0, %arg0 : tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
  func.func private @both(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xf32>) -> (tensor<2x3xf32>, tensor<2x3xf32>) {
    return %arg1, %arg0 : tensor<2x3xf32>, tensor<2x3xf32>
  }
}
#file = loc("model.py":12:4 to :20)
#span = loc("model.py":12:4 to 14:20)
#add = loc("jit(f)/add"(callsite(#file at fused["layer", unknown, #span])))
