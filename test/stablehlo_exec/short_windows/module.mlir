module {
  func.func @main(%x: tensor<4x6xf16>, %y: tensor<1x5x5x2xbf16>, %z: tensor<4x6xbf16>, %t: tensor<5x3xf16>, %w: tensor<5x3xbf16>, %i: tensor<7x1xi32>, %u: tensor<7x3xf16>, %v: tensor<7x3xbf16>) -> (tensor<3x3xf16>, tensor<1x3x3x2xbf16>, tensor<4x6xbf16>, tensor<5x3xf16>, tensor<5x3xbf16>) {
    %zero = stablehlo.constant dense<0.0> : tensor<f16>
    %low = stablehlo.constant dense<0xFF80> : tensor<bf16>
    %one = stablehlo.constant dense<1.0> : tensor<bf16>
    %0 = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%a: tensor<f16>, %b: tensor<f16>):
      %s = stablehlo.add %a, %b : tensor<f16>
      stablehlo.return %s : tensor<f16>
    }) : (tensor<4x6xf16>, tensor<f16>) -> tensor<3x3xf16>
    %1 = "stablehlo.reduce_window"(%y, %low) <{padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %s = stablehlo.maximum %a, %b : tensor<bf16>
      stablehlo.return %s : tensor<bf16>
    }) : (tensor<1x5x5x2xbf16>, tensor<bf16>) -> tensor<1x3x3x2xbf16>
    %2 = "stablehlo.reduce_window"(%z, %one) <{padding = dense<[[3, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 4, 1>}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %s = stablehlo.multiply %a, %b : tensor<bf16>
      stablehlo.return %s : tensor<bf16>
    }) : (tensor<4x6xbf16>, tensor<bf16>) -> tensor<4x6xbf16>
    %3 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<f16>, %b: tensor<f16>):
      %s = stablehlo.add %a, %b : tensor<f16>
      stablehlo.return %s : tensor<f16>
    }) : (tensor<5x3xf16>, tensor<7x1xi32>, tensor<7x3xf16>) -> tensor<5x3xf16>
    %4 = "stablehlo.scatter"(%w, %i, %v) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %s = stablehlo.add %a, %b : tensor<bf16>
      stablehlo.return %s : tensor<bf16>
    }) : (tensor<5x3xbf16>, tensor<7x1xi32>, tensor<7x3xbf16>) -> tensor<5x3xbf16>
    return %0, %1, %2, %3, %4 : tensor<3x3xf16>, tensor<1x3x3x2xbf16>, tensor<4x6xbf16>, tensor<5x3xf16>, tensor<5x3xbf16>
  }
}
