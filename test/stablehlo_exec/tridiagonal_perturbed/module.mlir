module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x4xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<2x4xf32>, %arg3: tensor<2x4x1xf32>, %arg4: tensor<3xf32>) -> (tensor<2x4x1xf32> {jax.result_info = "result[0]"}, tensor<2x4x1xf32> {jax.result_info = "result[1]"}, tensor<3x1xf32> {jax.result_info = "result[2]"}, tensor<4x1xcomplex<f64>> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%arg0, %arg1, %arg2, %arg3) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, k], [i, l], [i, m, n])->([i, o, p]) {i=2, j=4, k=4, l=4, m=4, n=1, o=4, p=1}, custom>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x1xf32>) -> tensor<2x4x1xf32>
    %1:5 = stablehlo.custom_call @lapack_sgtsv_ffi(%arg0, %arg1, %arg2, %arg3) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "1"}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [1], operand_index = 1, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [2], operand_index = 2, operand_tuple_indices = []>, #stablehlo.output_operand_alias<output_tuple_indices = [3], operand_index = 3, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 0]> : tensor<2xindex>, dense<[1, 2, 0]> : tensor<3xindex>, dense<0> : tensor<1xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, k], [i, l], [i, m, n])->([i, o], [i, p], [i, q], [i, r, s], [i]) {i=2, j=4, k=4, l=4, m=4, n=1, o=4, p=4, q=4, r=4, s=1}, custom>} : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x1xf32>, tensor<2xi32>)
    %c = stablehlo.constant dense<0> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.compare EQ, %1#4, %2, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<2xi1>) -> tensor<2x1x1xi1>
    %cst = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4x1xf32>
    %6 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2] : (tensor<2x1x1xi1>) -> tensor<2x4x1xi1>
    %7 = stablehlo.select %6, %1#3, %5 : tensor<2x4x1xi1>, tensor<2x4x1xf32>
    %8 = stablehlo.broadcast_in_dim %arg4, dims = [0] : (tensor<3xf32>) -> tensor<3x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %10 = stablehlo.add %8, %9 : tensor<3x1xf32>
    %11 = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%arg4, %arg4, %arg4, %10) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j], [k], [l, m])->([n, o]) {i=3, j=3, k=3, l=3, m=1, n=3, o=1}, custom>} : (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %13 = stablehlo.divide %12, %11 : tensor<3x1xf32>
    %cst_2 = stablehlo.constant dense<1.000000e+07> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<3x1xf32>
    %15 = stablehlo.multiply %13, %14 : tensor<3x1xf32>
    %16 = stablehlo.slice %arg0 [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %17 = stablehlo.reshape %16 : (tensor<1x4xf32>) -> tensor<4xf32>
    %18 = stablehlo.convert %17 : (tensor<4xf32>) -> tensor<4xcomplex<f64>>
    %cst_3 = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>
    %19 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<complex<f64>>) -> tensor<4xcomplex<f64>>
    %20 = stablehlo.multiply %18, %19 : tensor<4xcomplex<f64>>
    %21 = stablehlo.slice %arg1 [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %22 = stablehlo.reshape %21 : (tensor<1x4xf32>) -> tensor<4xf32>
    %23 = stablehlo.convert %22 : (tensor<4xf32>) -> tensor<4xcomplex<f64>>
    %cst_4 = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>
    %24 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<complex<f64>>) -> tensor<4xcomplex<f64>>
    %25 = stablehlo.multiply %23, %24 : tensor<4xcomplex<f64>>
    %26 = stablehlo.slice %arg2 [0:1, 0:4] : (tensor<2x4xf32>) -> tensor<1x4xf32>
    %27 = stablehlo.reshape %26 : (tensor<1x4xf32>) -> tensor<4xf32>
    %28 = stablehlo.convert %27 : (tensor<4xf32>) -> tensor<4xcomplex<f64>>
    %cst_5 = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>
    %29 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<complex<f64>>) -> tensor<4xcomplex<f64>>
    %30 = stablehlo.multiply %28, %29 : tensor<4xcomplex<f64>>
    %31 = stablehlo.slice %arg3 [0:1, 0:4, 0:1] : (tensor<2x4x1xf32>) -> tensor<1x4x1xf32>
    %32 = stablehlo.reshape %31 : (tensor<1x4x1xf32>) -> tensor<4x1xf32>
    %33 = stablehlo.convert %32 : (tensor<4x1xf32>) -> tensor<4x1xcomplex<f64>>
    %cst_6 = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>
    %34 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<complex<f64>>) -> tensor<4x1xcomplex<f64>>
    %35 = stablehlo.multiply %33, %34 : tensor<4x1xcomplex<f64>>
    %36 = stablehlo.custom_call @tridiagonal_solve_perturbed_ffi(%20, %25, %30, %35) {backend_config = "", mhlo.backend_config = {}, mhlo.frontend_attributes = {num_batch_dims = "0"}, operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>, dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>], sdy.sharding_rule = #sdy.op_sharding_rule<([i], [j], [k], [l, m])->([n, o]) {i=4, j=4, k=4, l=4, m=1, n=4, o=1}, custom>} : (tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>, tensor<4xcomplex<f64>>, tensor<4x1xcomplex<f64>>) -> tensor<4x1xcomplex<f64>>
    return %0, %7, %15, %36 : tensor<2x4x1xf32>, tensor<2x4x1xf32>, tensor<3x1xf32>, tensor<4x1xcomplex<f64>>
  }
}
