module @jit__lambda attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?x9x3xf32>) -> (tensor<?x?x5x3xf32> {jax.result_info = "result[0]"}, tensor<?x?x8x3xf32> {jax.result_info = "result[1]"}, tensor<?x?x9x3xf32> {jax.result_info = "result[2]"}, tensor<?x?x5x3xf32> {jax.result_info = "result[3]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<-5> : tensor<i32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?x9x3xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?x9x3xf32>) -> tensor<i32>
    %2 = stablehlo.compare GE, %0, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%2, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, 9, 3). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %3 = stablehlo.compare GE, %1, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%3, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'h'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, 9, 3). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'h' = {1} from specification 'h' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %4 = stablehlo.convert %1 : tensor<i32>
    %5 = stablehlo.add %4, %c_0 : tensor<i32>
    %6 = stablehlo.compare GE, %5, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %7 = stablehlo.convert %1 : tensor<i32>
    %8 = stablehlo.add %7, %c_0 : tensor<i32>
    stablehlo.custom_call @shape_assertion(%6, %8, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the symbolic shape constraint h >= 5. Expected 'h - 5' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, h, 9, 3). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'h' = {2} from specification 'h' for dimension args[0].shape[1] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %9:4 = call @_wrapped_jax_export_main(%0, %1, %arg0) : (tensor<i32>, tensor<i32>, tensor<?x?x9x3xf32>) -> (tensor<?x?x5x3xf32>, tensor<?x?x8x3xf32>, tensor<?x?x9x3xf32>, tensor<?x?x5x3xf32>)
    return %9#0, %9#1, %9#2, %9#3 : tensor<?x?x5x3xf32>, tensor<?x?x8x3xf32>, tensor<?x?x9x3xf32>, tensor<?x?x5x3xf32>
  }
  func.func @reduce_window_float32_reducer_0(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @reduce_window_float32_reducer(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.minimum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<?x?x9x3xf32>) -> (tensor<?x?x5x3xf32> {jax.result_info = "result[0]"}, tensor<?x?x8x3xf32> {jax.result_info = "result[1]"}, tensor<?x?x9x3xf32> {jax.result_info = "result[2]"}, tensor<?x?x5x3xf32> {jax.result_info = "result[3]"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<9> : tensor<1xi32>
    %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %c_2 = stablehlo.constant dense<3> : tensor<1xi32>
    %c_3 = stablehlo.constant dense<2> : tensor<1xi32>
    %c_4 = stablehlo.constant dense<3> : tensor<i32>
    %c_5 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_6 = stablehlo.constant dense<-2> : tensor<i32>
    %c_7 = stablehlo.constant dense<2> : tensor<i32>
    %c_8 = stablehlo.constant dense<-1> : tensor<i32>
    %c_9 = stablehlo.constant dense<0> : tensor<1xi32>
    %cst_10 = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = stablehlo.concatenate %c_9, %c_9, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %2 = stablehlo.reshape %1 : (tensor<2xi32>) -> tensor<1x2xi32>
    %3 = stablehlo.convert %arg1 : tensor<i32>
    %4 = stablehlo.multiply %3, %c_8 : tensor<i32>
    %5:2 = call @divmod(%arg0, %arg1, %4, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %6 = stablehlo.multiply %5#0, %c_6 : tensor<i32>
    %7 = stablehlo.convert %arg1 : tensor<i32>
    %8 = stablehlo.multiply %7, %c_8 : tensor<i32>
    %9 = stablehlo.add %6, %8 : tensor<i32>
    %10:2 = call @divmod(%arg0, %arg1, %9, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %11 = stablehlo.convert %arg1 : tensor<i32>
    %12 = stablehlo.multiply %11, %c_8 : tensor<i32>
    %13:2 = call @divmod(%arg0, %arg1, %12, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %14 = stablehlo.multiply %13#0, %c_6 : tensor<i32>
    %15 = stablehlo.convert %arg1 : tensor<i32>
    %16 = stablehlo.multiply %15, %c_8 : tensor<i32>
    %17 = stablehlo.add %14, %16 : tensor<i32>
    %18:2 = call @divmod(%arg0, %arg1, %17, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %19 = stablehlo.multiply %18#0, %c_8 : tensor<i32>
    %20 = stablehlo.convert %arg1 : tensor<i32>
    %21 = stablehlo.multiply %20, %c_8 : tensor<i32>
    %22:2 = call @divmod(%arg0, %arg1, %21, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %23 = stablehlo.multiply %22#0, %c_6 : tensor<i32>
    %24 = stablehlo.convert %arg1 : tensor<i32>
    %25 = stablehlo.multiply %24, %c_8 : tensor<i32>
    %26 = stablehlo.add %19, %23 : tensor<i32>
    %27 = stablehlo.add %26, %25 : tensor<i32>
    %28 = stablehlo.reshape %10#0 : (tensor<i32>) -> tensor<1xi32>
    %29 = stablehlo.reshape %27 : (tensor<i32>) -> tensor<1xi32>
    %30 = stablehlo.concatenate %28, %29, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %31 = stablehlo.reshape %30 : (tensor<2xi32>) -> tensor<1x2xi32>
    %32 = stablehlo.concatenate %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %33 = stablehlo.reshape %32 : (tensor<2xi32>) -> tensor<1x2xi32>
    %34 = stablehlo.concatenate %c_9, %c_9, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %35 = stablehlo.reshape %34 : (tensor<2xi32>) -> tensor<1x2xi32>
    %36 = stablehlo.concatenate %2, %31, %33, %35, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %37 = stablehlo.concatenate %c_5, %c_3, %c_2, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %38 = stablehlo.concatenate %c_5, %c_3, %c_3, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %39 = stablehlo.concatenate %c_5, %c_5, %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %40 = stablehlo.concatenate %c_5, %c_5, %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %41 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg2, %0, %37, %38, %39, %40, %36) {api_version = 2 : i32, called_computations = [@reduce_window_float32_reducer]} : (tensor<?x?x9x3xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x5x3xf32>
    %42 = "stablehlo.reduce_window"(%arg2, %cst_1) <{window_dimensions = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %97 = stablehlo.multiply %arg3, %arg4 : tensor<f32>
      stablehlo.return %97 : tensor<f32>
    }) : (tensor<?x?x9x3xf32>, tensor<f32>) -> tensor<?x?x8x3xf32>
    %43 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<f32>
    %44 = "stablehlo.reduce_window"(%arg2, %43) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %97 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %97 : tensor<f32>
    }) : (tensor<?x?x9x3xf32>, tensor<f32>) -> tensor<?x?x9x3xf32>
    %45 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %46 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %47 = stablehlo.concatenate %45, %46, %c, %c_2, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %48 = stablehlo.dynamic_broadcast_in_dim %cst_1, %47, dims = [] : (tensor<f32>, tensor<4xi32>) -> tensor<?x?x9x3xf32>
    %49 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<f32>
    %50 = "stablehlo.reduce_window"(%48, %49) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %97 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %97 : tensor<f32>
    }) : (tensor<?x?x9x3xf32>, tensor<f32>) -> tensor<?x?x9x3xf32>
    %51 = stablehlo.divide %44, %50 : tensor<?x?x9x3xf32>
    %52 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32>
    %53 = stablehlo.concatenate %c_9, %c_9, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %54 = stablehlo.reshape %53 : (tensor<2xi32>) -> tensor<1x2xi32>
    %55 = stablehlo.convert %arg1 : tensor<i32>
    %56 = stablehlo.multiply %55, %c_8 : tensor<i32>
    %57:2 = call @divmod(%arg0, %arg1, %56, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %58 = stablehlo.multiply %57#0, %c_6 : tensor<i32>
    %59 = stablehlo.convert %arg1 : tensor<i32>
    %60 = stablehlo.multiply %59, %c_8 : tensor<i32>
    %61 = stablehlo.add %58, %60 : tensor<i32>
    %62 = stablehlo.add %61, %c_4 : tensor<i32>
    %63:2 = call @divmod(%arg0, %arg1, %62, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %64 = stablehlo.convert %arg1 : tensor<i32>
    %65 = stablehlo.multiply %64, %c_8 : tensor<i32>
    %66:2 = call @divmod(%arg0, %arg1, %65, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %67 = stablehlo.multiply %66#0, %c_6 : tensor<i32>
    %68 = stablehlo.convert %arg1 : tensor<i32>
    %69 = stablehlo.multiply %68, %c_8 : tensor<i32>
    %70 = stablehlo.add %67, %69 : tensor<i32>
    %71 = stablehlo.add %70, %c_4 : tensor<i32>
    %72:2 = call @divmod(%arg0, %arg1, %71, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %73 = stablehlo.multiply %72#0, %c_8 : tensor<i32>
    %74 = stablehlo.convert %arg1 : tensor<i32>
    %75 = stablehlo.multiply %74, %c_8 : tensor<i32>
    %76:2 = call @divmod(%arg0, %arg1, %75, %c_7) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %77 = stablehlo.multiply %76#0, %c_6 : tensor<i32>
    %78 = stablehlo.convert %arg1 : tensor<i32>
    %79 = stablehlo.multiply %78, %c_8 : tensor<i32>
    %80 = stablehlo.add %73, %77 : tensor<i32>
    %81 = stablehlo.add %80, %79 : tensor<i32>
    %82 = stablehlo.add %81, %c_4 : tensor<i32>
    %83 = stablehlo.reshape %63#0 : (tensor<i32>) -> tensor<1xi32>
    %84 = stablehlo.reshape %82 : (tensor<i32>) -> tensor<1xi32>
    %85 = stablehlo.concatenate %83, %84, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %86 = stablehlo.reshape %85 : (tensor<2xi32>) -> tensor<1x2xi32>
    %87 = stablehlo.concatenate %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %88 = stablehlo.reshape %87 : (tensor<2xi32>) -> tensor<1x2xi32>
    %89 = stablehlo.concatenate %c_9, %c_9, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %90 = stablehlo.reshape %89 : (tensor<2xi32>) -> tensor<1x2xi32>
    %91 = stablehlo.concatenate %54, %86, %88, %90, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %92 = stablehlo.concatenate %c_5, %c_2, %c_2, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %93 = stablehlo.concatenate %c_5, %c_3, %c_3, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %94 = stablehlo.concatenate %c_5, %c_5, %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %95 = stablehlo.concatenate %c_5, %c_3, %c_5, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %96 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg2, %52, %92, %93, %94, %95, %91) {api_version = 2 : i32, called_computations = [@reduce_window_float32_reducer_0]} : (tensor<?x?x9x3xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x5x3xf32>
    return %41, %42, %51, %96 : tensor<?x?x5x3xf32>, tensor<?x?x8x3xf32>, tensor<?x?x9x3xf32>, tensor<?x?x5x3xf32>
  }
  func.func private @divmod(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32>, %arg3: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = call @floor_divide(%arg0, %arg1, %arg2, %arg3) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @remainder(%arg0, %arg1, %arg2, %arg3) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %0, %1 : tensor<i32>, tensor<i32>
  }
  func.func private @floor_divide(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.divide %arg2, %arg3 : tensor<i32>
    %1 = stablehlo.sign %arg2 : tensor<i32>
    %2 = stablehlo.sign %arg3 : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %arg2, %arg3 : tensor<i32>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i32>
    %8 = call @_where(%arg0, %arg1, %6, %7, %0) : (tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %8 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i1>, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg2, %arg3, %arg4 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @remainder(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32>, %arg3: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg3, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = call @_where(%arg0, %arg1, %0, %c, %arg3) : (tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg2, %1 : tensor<i32>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
}
