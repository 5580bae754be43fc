module @jit_f attributes {jax.uses_shape_polymorphism = true, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<?x?x?x2xf32>) -> (tensor<?x1x1x2xf32> {jax.result_info = "result[0]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[1]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[2]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[3]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[4]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[5]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[6]"}) {
    %c = stablehlo.constant dense<-3> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %c_1 = stablehlo.constant dense<-2> : tensor<i32>
    %c_2 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x?x?x2xf32>) -> tensor<i32>
    %1 = stablehlo.get_dimension_size %arg0, dim = 1 : (tensor<?x?x?x2xf32>) -> tensor<i32>
    %2 = stablehlo.get_dimension_size %arg0, dim = 2 : (tensor<?x?x?x2xf32>) -> tensor<i32>
    %3 = stablehlo.compare GE, %0, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%3, %0) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, w, 2). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %4 = stablehlo.compare GE, %1, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%4, %0, %1) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'h'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, w, 2). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'h' = {1} from specification 'h' for dimension args[0].shape[1] (= {1}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>) -> ()
    %5 = stablehlo.compare GE, %2, %c_2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%5, %0, %1, %2) {api_version = 2 : i32, error_message = "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 for dimension variable 'w'. Using the following polymorphic shapes specifications: args[0].shape = (b, h, w, 2). Obtained dimension variables: 'b' = {0} from specification 'b' for dimension args[0].shape[0] (= {0}), 'h' = {1} from specification 'h' for dimension args[0].shape[1] (= {1}), 'w' = {2} from specification 'w' for dimension args[0].shape[2] (= {2}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %6 = stablehlo.convert %1 : tensor<i32>
    %7 = stablehlo.add %6, %c_1 : tensor<i32>
    %8 = stablehlo.compare GE, %7, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %9 = stablehlo.convert %1 : tensor<i32>
    %10 = stablehlo.add %9, %c_1 : tensor<i32>
    stablehlo.custom_call @shape_assertion(%8, %10, %0, %1, %2) {api_version = 2 : i32, error_message = "Input shapes do not match the symbolic shape constraint h>=2. Expected 'h - 2' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, h, w, 2). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'h' = {2} from specification 'h' for dimension args[0].shape[1] (= {2}), 'w' = {3} from specification 'w' for dimension args[0].shape[2] (= {3}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %11 = stablehlo.convert %2 : tensor<i32>
    %12 = stablehlo.add %11, %c : tensor<i32>
    %13 = stablehlo.compare GE, %12, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %14 = stablehlo.convert %2 : tensor<i32>
    %15 = stablehlo.add %14, %c : tensor<i32>
    stablehlo.custom_call @shape_assertion(%13, %15, %0, %1, %2) {api_version = 2 : i32, error_message = "Input shapes do not match the symbolic shape constraint w>=3. Expected 'w - 3' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, h, w, 2). Obtained dimension variables: 'b' = {1} from specification 'b' for dimension args[0].shape[0] (= {1}), 'h' = {2} from specification 'h' for dimension args[0].shape[1] (= {2}), 'w' = {3} from specification 'w' for dimension args[0].shape[2] (= {3}), . Please see https://docs.jax.dev/en/latest/export/shape_poly.html#shape-assertion-errors for more details.", has_side_effect = true} : (tensor<i1>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> ()
    %16:7 = call @_wrapped_jax_export_main(%0, %1, %2, %arg0) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<?x?x?x2xf32>) -> (tensor<?x1x1x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>)
    return %16#0, %16#1, %16#2, %16#3, %16#4, %16#5, %16#6 : tensor<?x1x1x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>
  }
  func.func @generic_reduce_window_reducer_5(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<f32>
    %1 = stablehlo.add %0, %arg0 : tensor<f32>
    %2 = stablehlo.add %1, %arg1 : tensor<f32>
    return %2 : tensor<f32>
  }
  func.func @generic_reduce_window_reducer_4(%arg0: tensor<f32>, %arg1: tensor<f32>, %arg2: tensor<f32>, %arg3: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    %0 = stablehlo.add %arg0, %arg2 : tensor<f32>
    %1 = stablehlo.multiply %arg1, %arg3 : tensor<f32>
    %2 = stablehlo.add %1, %arg0 : tensor<f32>
    return %0, %2 : tensor<f32>, tensor<f32>
  }
  func.func @reduce_window_float32_reducer_3(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @generic_reduce_window_reducer_2(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @reduce_window_float32_reducer_1(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @generic_reduce_window_reducer(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @reduce_window_float32_reducer(%arg0: tensor<f32>, %arg1: tensor<f32>) -> tensor<f32> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<?x?x?x2xf32> loc("x")) -> (tensor<?x1x1x2xf32> {jax.result_info = "result[0]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[1]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[2]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[3]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[4]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[5]"}, tensor<?x?x?x2xf32> {jax.result_info = "result[6]"}) {
    %c = stablehlo.constant dense<3> : tensor<1xi32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c_1 = stablehlo.constant dense<3> : tensor<i32>
    %c_2 = stablehlo.constant dense<-2> : tensor<i32>
    %c_3 = stablehlo.constant dense<-1> : tensor<i32>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %c_5 = stablehlo.constant dense<2> : tensor<1xi32>
    %c_6 = stablehlo.constant dense<2> : tensor<i32>
    %c_7 = stablehlo.constant dense<1> : tensor<1xi32>
    %c_8 = stablehlo.constant dense<0> : tensor<1xi32>
    %c_9 = stablehlo.constant dense<0> : tensor<i32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<f32>
    %1 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %2 = stablehlo.reshape %1 : (tensor<2xi32>) -> tensor<1x2xi32>
    %3 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %4 = stablehlo.reshape %3 : (tensor<2xi32>) -> tensor<1x2xi32>
    %5 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %6 = stablehlo.reshape %5 : (tensor<2xi32>) -> tensor<1x2xi32>
    %7 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %8 = stablehlo.reshape %7 : (tensor<2xi32>) -> tensor<1x2xi32>
    %9 = stablehlo.concatenate %2, %4, %6, %8, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %10 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %11 = stablehlo.reshape %arg2 : (tensor<i32>) -> tensor<1xi32>
    %12 = stablehlo.concatenate %c_7, %10, %11, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %13 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %14 = stablehlo.reshape %arg2 : (tensor<i32>) -> tensor<1xi32>
    %15 = stablehlo.concatenate %c_7, %13, %14, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %16 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %17 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %18 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg3, %0, %12, %15, %16, %17, %9) {api_version = 2 : i32, called_computations = [@reduce_window_float32_reducer]} : (tensor<?x?x?x2xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x1x1x2xf32>
    %19 = stablehlo.multiply %arg2, %arg1 : tensor<i32>
    %20 = stablehlo.convert %19 : (tensor<i32>) -> tensor<f32>
    %21 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %22 = stablehlo.concatenate %21, %c_7, %c_7, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %23 = stablehlo.dynamic_broadcast_in_dim %20, %22, dims = [] : (tensor<f32>, tensor<4xi32>) -> tensor<?x1x1x2xf32>
    %24 = stablehlo.divide %18, %23 : tensor<?x1x1x2xf32>
    %25 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %26 = stablehlo.reshape %25 : (tensor<2xi32>) -> tensor<1x2xi32>
    %27:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %28 = stablehlo.convert %arg1 : tensor<i32>
    %29 = stablehlo.multiply %28, %c_3 : tensor<i32>
    %30:2 = call @divmod_0(%arg0, %arg1, %arg2, %29, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %31 = stablehlo.multiply %30#0, %c_2 : tensor<i32>
    %32 = stablehlo.convert %arg1 : tensor<i32>
    %33 = stablehlo.multiply %32, %c_3 : tensor<i32>
    %34 = stablehlo.add %27#0, %31 : tensor<i32>
    %35 = stablehlo.add %34, %33 : tensor<i32>
    %36 = stablehlo.add %35, %c_2 : tensor<i32>
    %37 = stablehlo.maximum %36, %c_9 : tensor<i32>
    %38:2 = call @divmod_0(%arg0, %arg1, %arg2, %37, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %39:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %40 = stablehlo.convert %arg1 : tensor<i32>
    %41 = stablehlo.multiply %40, %c_3 : tensor<i32>
    %42:2 = call @divmod_0(%arg0, %arg1, %arg2, %41, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %43 = stablehlo.multiply %42#0, %c_2 : tensor<i32>
    %44 = stablehlo.convert %arg1 : tensor<i32>
    %45 = stablehlo.multiply %44, %c_3 : tensor<i32>
    %46 = stablehlo.add %39#0, %43 : tensor<i32>
    %47 = stablehlo.add %46, %45 : tensor<i32>
    %48 = stablehlo.add %47, %c_2 : tensor<i32>
    %49 = stablehlo.maximum %48, %c_9 : tensor<i32>
    %50:2 = call @divmod_0(%arg0, %arg1, %arg2, %49, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %51 = stablehlo.multiply %50#0, %c_3 : tensor<i32>
    %52:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %53 = stablehlo.convert %arg1 : tensor<i32>
    %54 = stablehlo.multiply %53, %c_3 : tensor<i32>
    %55:2 = call @divmod_0(%arg0, %arg1, %arg2, %54, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %56 = stablehlo.multiply %55#0, %c_2 : tensor<i32>
    %57 = stablehlo.convert %arg1 : tensor<i32>
    %58 = stablehlo.multiply %57, %c_3 : tensor<i32>
    %59 = stablehlo.add %52#0, %56 : tensor<i32>
    %60 = stablehlo.add %59, %58 : tensor<i32>
    %61 = stablehlo.add %60, %c_2 : tensor<i32>
    %62 = stablehlo.maximum %61, %c_9 : tensor<i32>
    %63 = stablehlo.add %51, %62 : tensor<i32>
    %64 = stablehlo.reshape %38#0 : (tensor<i32>) -> tensor<1xi32>
    %65 = stablehlo.reshape %63 : (tensor<i32>) -> tensor<1xi32>
    %66 = stablehlo.concatenate %64, %65, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %67 = stablehlo.reshape %66 : (tensor<2xi32>) -> tensor<1x2xi32>
    %68 = stablehlo.convert %arg2 : tensor<i32>
    %69 = stablehlo.multiply %68, %c_3 : tensor<i32>
    %70:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %71:2 = call @divmod_0(%arg0, %arg1, %arg2, %69, %70#0) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %72:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %73 = stablehlo.multiply %71#0, %72#0 : tensor<i32>
    %74 = stablehlo.multiply %73, %c_3 : tensor<i32>
    %75:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %76 = stablehlo.multiply %75#0, %c_3 : tensor<i32>
    %77 = stablehlo.convert %arg2 : tensor<i32>
    %78 = stablehlo.multiply %77, %c_3 : tensor<i32>
    %79 = stablehlo.add %74, %76 : tensor<i32>
    %80 = stablehlo.add %79, %78 : tensor<i32>
    %81 = stablehlo.add %80, %c_6 : tensor<i32>
    %82 = stablehlo.maximum %81, %c_9 : tensor<i32>
    %83:2 = call @divmod_0(%arg0, %arg1, %arg2, %82, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %84 = stablehlo.convert %arg2 : tensor<i32>
    %85 = stablehlo.multiply %84, %c_3 : tensor<i32>
    %86:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %87:2 = call @divmod_0(%arg0, %arg1, %arg2, %85, %86#0) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %88:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %89 = stablehlo.multiply %87#0, %88#0 : tensor<i32>
    %90 = stablehlo.multiply %89, %c_3 : tensor<i32>
    %91:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %92 = stablehlo.multiply %91#0, %c_3 : tensor<i32>
    %93 = stablehlo.convert %arg2 : tensor<i32>
    %94 = stablehlo.multiply %93, %c_3 : tensor<i32>
    %95 = stablehlo.add %90, %92 : tensor<i32>
    %96 = stablehlo.add %95, %94 : tensor<i32>
    %97 = stablehlo.add %96, %c_6 : tensor<i32>
    %98 = stablehlo.maximum %97, %c_9 : tensor<i32>
    %99:2 = call @divmod_0(%arg0, %arg1, %arg2, %98, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %100 = stablehlo.multiply %99#0, %c_3 : tensor<i32>
    %101 = stablehlo.convert %arg2 : tensor<i32>
    %102 = stablehlo.multiply %101, %c_3 : tensor<i32>
    %103:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %104:2 = call @divmod_0(%arg0, %arg1, %arg2, %102, %103#0) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %105:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %106 = stablehlo.multiply %104#0, %105#0 : tensor<i32>
    %107 = stablehlo.multiply %106, %c_3 : tensor<i32>
    %108:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %109 = stablehlo.multiply %108#0, %c_3 : tensor<i32>
    %110 = stablehlo.convert %arg2 : tensor<i32>
    %111 = stablehlo.multiply %110, %c_3 : tensor<i32>
    %112 = stablehlo.add %107, %109 : tensor<i32>
    %113 = stablehlo.add %112, %111 : tensor<i32>
    %114 = stablehlo.add %113, %c_6 : tensor<i32>
    %115 = stablehlo.maximum %114, %c_9 : tensor<i32>
    %116 = stablehlo.add %100, %115 : tensor<i32>
    %117 = stablehlo.reshape %83#0 : (tensor<i32>) -> tensor<1xi32>
    %118 = stablehlo.reshape %116 : (tensor<i32>) -> tensor<1xi32>
    %119 = stablehlo.concatenate %117, %118, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %120 = stablehlo.reshape %119 : (tensor<2xi32>) -> tensor<1x2xi32>
    %121 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %122 = stablehlo.reshape %121 : (tensor<2xi32>) -> tensor<1x2xi32>
    %123 = stablehlo.concatenate %26, %67, %120, %122, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %124:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %125 = stablehlo.reshape %124#0 : (tensor<i32>) -> tensor<1xi32>
    %126 = stablehlo.concatenate %c_7, %125, %c_5, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %127:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %128 = stablehlo.reshape %127#0 : (tensor<i32>) -> tensor<1xi32>
    %129 = stablehlo.concatenate %c_7, %c_5, %128, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %130 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %131 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %132 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg3, %cst_4, %126, %129, %130, %131, %123) {api_version = 2 : i32, called_computations = [@generic_reduce_window_reducer]} : (tensor<?x?x?x2xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x?x2xf32>
    %133 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<f32>
    %134 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %135 = stablehlo.reshape %134 : (tensor<2xi32>) -> tensor<1x2xi32>
    %136 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %137 = stablehlo.reshape %136 : (tensor<2xi32>) -> tensor<1x2xi32>
    %138 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %139 = stablehlo.reshape %138 : (tensor<2xi32>) -> tensor<1x2xi32>
    %140 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %141 = stablehlo.reshape %140 : (tensor<2xi32>) -> tensor<1x2xi32>
    %142 = stablehlo.concatenate %135, %137, %139, %141, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %143:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %144:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %145 = stablehlo.reshape %143#0 : (tensor<i32>) -> tensor<1xi32>
    %146 = stablehlo.reshape %144#0 : (tensor<i32>) -> tensor<1xi32>
    %147 = stablehlo.concatenate %c_7, %145, %146, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %148:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %149:2 = call @divmod(%arg0, %arg1, %arg2, %arg2, %c_1) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %150 = stablehlo.reshape %148#0 : (tensor<i32>) -> tensor<1xi32>
    %151 = stablehlo.reshape %149#0 : (tensor<i32>) -> tensor<1xi32>
    %152 = stablehlo.concatenate %c_7, %150, %151, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %153 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %154 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %155 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg3, %133, %147, %152, %153, %154, %142) {api_version = 2 : i32, called_computations = [@reduce_window_float32_reducer_1]} : (tensor<?x?x?x2xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x?x2xf32>
    %156 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %157 = stablehlo.reshape %156 : (tensor<2xi32>) -> tensor<1x2xi32>
    %158 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %159 = stablehlo.concatenate %c_7, %158, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %160 = stablehlo.reshape %159 : (tensor<2xi32>) -> tensor<1x2xi32>
    %161 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %162 = stablehlo.reshape %161 : (tensor<2xi32>) -> tensor<1x2xi32>
    %163 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %164 = stablehlo.reshape %163 : (tensor<2xi32>) -> tensor<1x2xi32>
    %165 = stablehlo.concatenate %157, %160, %162, %164, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %166 = stablehlo.concatenate %c_7, %c, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %167 = stablehlo.concatenate %c_7, %c_5, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %168 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %169 = stablehlo.concatenate %c_7, %168, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %170 = stablehlo.concatenate %c_7, %c_5, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %171 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg3, %cst, %166, %167, %169, %170, %165) {api_version = 2 : i32, called_computations = [@generic_reduce_window_reducer_2]} : (tensor<?x?x?x2xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x?x2xf32>
    %172 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<f32>
    %173 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %174 = stablehlo.reshape %173 : (tensor<2xi32>) -> tensor<1x2xi32>
    %175:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %176 = stablehlo.add %175#0, %c_3 : tensor<i32>
    %177 = stablehlo.reshape %176 : (tensor<i32>) -> tensor<1xi32>
    %178 = stablehlo.concatenate %177, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %179 = stablehlo.reshape %178 : (tensor<2xi32>) -> tensor<1x2xi32>
    %180 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %181 = stablehlo.reshape %180 : (tensor<2xi32>) -> tensor<1x2xi32>
    %182 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %183 = stablehlo.reshape %182 : (tensor<2xi32>) -> tensor<1x2xi32>
    %184 = stablehlo.concatenate %174, %179, %181, %183, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %185:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %186 = stablehlo.reshape %185#0 : (tensor<i32>) -> tensor<1xi32>
    %187 = stablehlo.concatenate %c_7, %186, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %188 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %189 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %190 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %191 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg3, %172, %187, %188, %189, %190, %184) {api_version = 2 : i32, called_computations = [@reduce_window_float32_reducer_3]} : (tensor<?x?x?x2xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x?x2xf32>
    %192 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
    %193 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %194 = stablehlo.reshape %arg2 : (tensor<i32>) -> tensor<1xi32>
    %195 = stablehlo.concatenate %192, %193, %194, %c_5, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %196 = stablehlo.dynamic_broadcast_in_dim %cst_4, %195, dims = [] : (tensor<f32>, tensor<4xi32>) -> tensor<?x?x?x2xf32>
    %197 = stablehlo.multiply %arg3, %196 : tensor<?x?x?x2xf32>
    %198 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %199 = stablehlo.reshape %198 : (tensor<2xi32>) -> tensor<1x2xi32>
    %200 = stablehlo.convert %arg1 : tensor<i32>
    %201 = stablehlo.add %200, %c_3 : tensor<i32>
    %202:2 = call @divmod_0(%arg0, %arg1, %arg2, %201, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %203 = stablehlo.convert %arg1 : tensor<i32>
    %204 = stablehlo.add %203, %c_3 : tensor<i32>
    %205:2 = call @divmod_0(%arg0, %arg1, %arg2, %204, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %206 = stablehlo.multiply %205#0, %c_3 : tensor<i32>
    %207 = stablehlo.convert %arg1 : tensor<i32>
    %208 = stablehlo.add %206, %207 : tensor<i32>
    %209 = stablehlo.add %208, %c_3 : tensor<i32>
    %210 = stablehlo.reshape %202#0 : (tensor<i32>) -> tensor<1xi32>
    %211 = stablehlo.reshape %209 : (tensor<i32>) -> tensor<1xi32>
    %212 = stablehlo.concatenate %210, %211, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %213 = stablehlo.reshape %212 : (tensor<2xi32>) -> tensor<1x2xi32>
    %214 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %215 = stablehlo.reshape %214 : (tensor<2xi32>) -> tensor<1x2xi32>
    %216 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %217 = stablehlo.reshape %216 : (tensor<2xi32>) -> tensor<1x2xi32>
    %218 = stablehlo.concatenate %199, %213, %215, %217, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %219 = stablehlo.reshape %arg1 : (tensor<i32>) -> tensor<1xi32>
    %220 = stablehlo.concatenate %c_7, %219, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %221 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %222 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %223 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %224:2 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg3, %197, %cst_10, %cst, %220, %221, %222, %223, %218) {api_version = 2 : i32, called_computations = [@generic_reduce_window_reducer_4]} : (tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<f32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> (tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>)
    %225 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %226 = stablehlo.reshape %225 : (tensor<2xi32>) -> tensor<1x2xi32>
    %227 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %228 = stablehlo.reshape %227 : (tensor<2xi32>) -> tensor<1x2xi32>
    %229 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %230 = stablehlo.reshape %229 : (tensor<2xi32>) -> tensor<1x2xi32>
    %231 = stablehlo.concatenate %c_8, %c_8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %232 = stablehlo.reshape %231 : (tensor<2xi32>) -> tensor<1x2xi32>
    %233 = stablehlo.concatenate %226, %228, %230, %232, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<4x2xi32>
    %234:2 = call @divmod(%arg0, %arg1, %arg2, %arg1, %c_6) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    %235 = stablehlo.reshape %234#0 : (tensor<i32>) -> tensor<1xi32>
    %236 = stablehlo.concatenate %c_7, %235, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %237 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %238 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %239 = stablehlo.concatenate %c_7, %c_7, %c_7, %c_7, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
    %240 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%arg3, %cst_10, %236, %237, %238, %239, %233) {api_version = 2 : i32, called_computations = [@generic_reduce_window_reducer_5]} : (tensor<?x?x?x2xf32>, tensor<f32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4x2xi32>) -> tensor<?x?x?x2xf32>
    return %24, %132, %155, %171, %191, %224#0, %240 : tensor<?x1x1x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>, tensor<?x?x?x2xf32>
  }
  func.func private @divmod(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i32>, %arg4: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = stablehlo.convert %arg3 : tensor<i32>
    %1 = call @floor_divide(%arg0, %arg1, %arg2, %0, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = call @remainder(%arg0, %arg1, %arg2, %0, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %1, %2 : tensor<i32>, tensor<i32>
  }
  func.func private @floor_divide(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.divide %arg3, %arg4 : tensor<i32>
    %1 = stablehlo.sign %arg3 : tensor<i32>
    %2 = stablehlo.sign %arg4 : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %arg3, %arg4 : tensor<i32>
    %5 = stablehlo.compare NE, %4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c : tensor<i32>
    %8 = call @_where(%arg0, %arg1, %arg2, %6, %7, %0) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %8 : tensor<i32>
  }
  func.func private @_where(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i1>, %arg4: tensor<i32>, %arg5: tensor<i32>) -> tensor<i32> {
    %0 = stablehlo.select %arg3, %arg4, %arg5 : tensor<i1>, tensor<i32>
    return %0 : tensor<i32>
  }
  func.func private @remainder(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i32>, %arg4: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.compare EQ, %arg4, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %1 = call @_where(%arg0, %arg1, %arg2, %0, %c, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.remainder %arg3, %1 : tensor<i32>
    %3 = stablehlo.compare NE, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.compare LT, %2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %5 = stablehlo.compare LT, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.compare NE, %4, %5, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %7 = stablehlo.and %6, %3 : tensor<i1>
    %8 = stablehlo.add %2, %1 : tensor<i32>
    %9 = stablehlo.select %7, %8, %2 : tensor<i1>, tensor<i32>
    return %9 : tensor<i32>
  }
  func.func private @divmod_0(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<i32> {jax.global_constant = "h"}, %arg2: tensor<i32> {jax.global_constant = "w"}, %arg3: tensor<i32>, %arg4: tensor<i32>) -> (tensor<i32>, tensor<i32>) {
    %0 = call @floor_divide(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = call @remainder(%arg0, %arg1, %arg2, %arg3, %arg4) : (tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<i32>
    return %0, %1 : tensor<i32>, tensor<i32>
  }
}
