module @jit_f attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<5xf32>, %arg2: tensor<5xf32>, %arg3: tensor<5xf32>, %arg4: tensor<5xf32>, %arg5: tensor<5xf32>, %arg6: tensor<5xf32>, %arg7: tensor<5xf32>, %arg8: tensor<5xf32>, %arg9: tensor<5x5xf32>, %arg10: tensor<5x5xf32>, %arg11: tensor<5xf32>, %arg12: tensor<5xf32>) -> (tensor<5x5xf32> {jax.result_info = ""}, tensor<5x5xf32> {jax.result_info = ""}) {
    %0:13 = stablehlo.optimization_barrier %arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6, %arg7, %arg8, %arg9, %arg10, %arg11, %arg12 : tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5x5xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0#8 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %2 = stablehlo.compare GT, %1, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %3 = stablehlo.convert %2 : (tensor<i1>) -> tensor<i32>
    %4:19 = "stablehlo.case"(%3) ({
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %8 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<5x5xf32>
      %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %9 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_5 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %10 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_6 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %11 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %12 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %13 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_9 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %14 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %15 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_11 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %16 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %17 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<5x5xf32>
      %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %18 = stablehlo.broadcast_in_dim %cst_13, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_14 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %19 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_15 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %20 = stablehlo.broadcast_in_dim %cst_15, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_16 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %21 = stablehlo.broadcast_in_dim %cst_16, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_17 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %22 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_18 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %23 = stablehlo.broadcast_in_dim %cst_18, dims = [] : (tensor<f32>) -> tensor<5xf32>
      %cst_19 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %24 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<5xf32>
      stablehlo.return %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, %24 : tensor<5xf32>, tensor<5xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
    }, {
      %6 = stablehlo.sine %0#0 : tensor<5xf32>
      %7 = stablehlo.cosine %0#0 : tensor<5xf32>
      %8 = stablehlo.cosine %0#0 : tensor<5xf32>
      %9 = stablehlo.sine %0#0 : tensor<5xf32>
      %10 = stablehlo.multiply %0#1, %8 : tensor<5xf32>
      %11 = stablehlo.add %0#2, %0#3 : tensor<5xf32>
      %12 = stablehlo.sine %0#4 : tensor<5xf32>
      %13 = stablehlo.cosine %0#4 : tensor<5xf32>
      %14 = stablehlo.cosine %0#4 : tensor<5xf32>
      %15 = stablehlo.sine %0#4 : tensor<5xf32>
      %16 = stablehlo.multiply %11, %14 : tensor<5xf32>
      %17 = stablehlo.add %0#5, %0#6 : tensor<5xf32>
      %18 = stablehlo.cosine %0#7 : tensor<5xf32>
      %19 = stablehlo.cosine %0#7 : tensor<5xf32>
      %20 = stablehlo.sine %0#7 : tensor<5xf32>
      stablehlo.return %0#8, %7, %0#9, %6, %13, %12, %18, %8, %0#1, %9, %10, %0#10, %14, %11, %15, %16, %19, %17, %20 : tensor<5xf32>, tensor<5xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>
    }) : (tensor<i32>) -> (tensor<5xf32>, tensor<5xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5x5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>, tensor<5xf32>)
    %5:2 = "stablehlo.case"(%3) ({
      %cst_1 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<5x5xf32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %7 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<5x5xf32>
      stablehlo.return %6, %7 : tensor<5x5xf32>, tensor<5x5xf32>
    }, {
      %6 = stablehlo.multiply %4#17, %0#12 : tensor<5xf32>
      %7 = stablehlo.multiply %0#12, %4#16 : tensor<5xf32>
      %8 = stablehlo.negate %6 : tensor<5xf32>
      %9 = stablehlo.multiply %8, %4#18 : tensor<5xf32>
      %10 = stablehlo.multiply %0#11, %4#6 : tensor<5xf32>
      %11 = stablehlo.add %9, %10 : tensor<5xf32>
      %12 = stablehlo.dot_general %7, %4#5, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %13 = stablehlo.transpose %12, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %14 = stablehlo.dot_general %7, %4#11, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5xf32>
      %15 = stablehlo.dot_general %7, %4#15, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %16 = stablehlo.transpose %15, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %17 = stablehlo.dot_general %7, %4#2, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5xf32>
      %18 = stablehlo.dot_general %11, %4#5, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %19 = stablehlo.transpose %18, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %20 = stablehlo.add %16, %19 : tensor<5x5xf32>
      %21 = stablehlo.dot_general %11, %4#2, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5xf32>
      %22 = stablehlo.add %14, %21 : tensor<5xf32>
      %23 = stablehlo.multiply %4#13, %17 : tensor<5xf32>
      %24 = stablehlo.multiply %17, %4#12 : tensor<5xf32>
      %25 = stablehlo.negate %23 : tensor<5xf32>
      %26 = stablehlo.multiply %25, %4#14 : tensor<5xf32>
      %27 = stablehlo.multiply %22, %4#4 : tensor<5xf32>
      %28 = stablehlo.add %26, %27 : tensor<5xf32>
      %29 = stablehlo.dot_general %24, %4#3, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %30 = stablehlo.transpose %29, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %31 = stablehlo.add %13, %30 : tensor<5x5xf32>
      %32 = stablehlo.dot_general %24, %4#11, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5xf32>
      %33 = stablehlo.dot_general %24, %4#10, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %34 = stablehlo.transpose %33, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %35 = stablehlo.add %20, %34 : tensor<5x5xf32>
      %36 = stablehlo.dot_general %24, %4#2, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5xf32>
      %37 = stablehlo.dot_general %28, %4#3, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %38 = stablehlo.transpose %37, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %39 = stablehlo.add %35, %38 : tensor<5x5xf32>
      %40 = stablehlo.dot_general %28, %4#2, contracting_dims = [0] x [1], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5x5xf32>) -> tensor<5xf32>
      %41 = stablehlo.add %32, %40 : tensor<5xf32>
      %42 = stablehlo.multiply %4#8, %36 : tensor<5xf32>
      %43 = stablehlo.multiply %36, %4#7 : tensor<5xf32>
      %44 = stablehlo.negate %42 : tensor<5xf32>
      %45 = stablehlo.multiply %44, %4#9 : tensor<5xf32>
      %46 = stablehlo.multiply %41, %4#1 : tensor<5xf32>
      %47 = stablehlo.add %45, %46 : tensor<5xf32>
      %48 = stablehlo.dot_general %43, %4#0, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %49 = stablehlo.transpose %48, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %50 = stablehlo.add %31, %49 : tensor<5x5xf32>
      %51 = stablehlo.dot_general %47, %4#0, contracting_dims = [] x [], precision = [HIGHEST, HIGHEST] : (tensor<5xf32>, tensor<5xf32>) -> tensor<5x5xf32>
      %52 = stablehlo.transpose %51, dims = [1, 0] : (tensor<5x5xf32>) -> tensor<5x5xf32>
      %53 = stablehlo.add %39, %52 : tensor<5x5xf32>
      stablehlo.return %53, %50 : tensor<5x5xf32>, tensor<5x5xf32>
    }) : (tensor<i32>) -> (tensor<5x5xf32>, tensor<5x5xf32>)
    return %5#0, %5#1 : tensor<5x5xf32>, tensor<5x5xf32>
  }
}
