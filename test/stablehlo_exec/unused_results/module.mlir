// Reductions, windows and scatters of pairs of which one result is not used; the slice of a scalar as MLIR prints it.
module {
  func.func @main(%arg0: tensor<7xf32>, %arg1: tensor<7xi32>) -> (tensor<f32>, tensor<i32>, tensor<5xf32>, tensor<5xi32>, tensor<7xf32>, tensor<f32>) {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %first = stablehlo.constant dense<-1> : tensor<i32>
    %a:2 = stablehlo.reduce(%arg0 init: %low), (%arg1 init: %first) across dimensions = [0] : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%x: tensor<f32>, %y: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %0 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.select %0, %y, %x : tensor<i1>, tensor<f32>
      %2 = stablehlo.select %0, %j, %i : tensor<i1>, tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }
    %b:2 = stablehlo.reduce(%arg0 init: %low), (%arg1 init: %first) across dimensions = [0] : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<f32>, tensor<i32>)
     reducer(%x: tensor<f32>, %y: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
      %0 = stablehlo.compare LE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.select %0, %y, %x : tensor<i1>, tensor<f32>
      %2 = stablehlo.select %0, %j, %i : tensor<i1>, tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }
    %c:2 = "stablehlo.reduce_window"(%arg0, %arg1, %low, %first) <{window_dimensions = array<i64: 3>}> ({
    ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
      %0 = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.select %0, %y, %x : tensor<i1>, tensor<f32>
      %2 = stablehlo.select %0, %j, %i : tensor<i1>, tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }) : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
    %d:2 = "stablehlo.reduce_window"(%arg0, %arg1, %low, %first) <{window_dimensions = array<i64: 3>}> ({
    ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
      %0 = stablehlo.compare LE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.select %0, %y, %x : tensor<i1>, tensor<f32>
      %2 = stablehlo.select %0, %j, %i : tensor<i1>, tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }) : (tensor<7xf32>, tensor<7xi32>, tensor<f32>, tensor<i32>) -> (tensor<5xf32>, tensor<5xi32>)
    %at = stablehlo.constant dense<[[1], [4]]> : tensor<2x1xi32>
    %u = stablehlo.constant dense<[10.0, 20.0]> : tensor<2xf32>
    %v = stablehlo.constant dense<[7, 8]> : tensor<2xi32>
    %e:2 = "stablehlo.scatter"(%arg0, %arg1, %at, %u, %v) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%x: tensor<f32>, %i: tensor<i32>, %y: tensor<f32>, %j: tensor<i32>):
      %0 = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %1 = stablehlo.select %0, %y, %x : tensor<i1>, tensor<f32>
      %2 = stablehlo.add %i, %j : tensor<i32>
      stablehlo.return %1, %2 : tensor<f32>, tensor<i32>
    }) : (tensor<7xf32>, tensor<7xi32>, tensor<2x1xi32>, tensor<2xf32>, tensor<2xi32>) -> (tensor<7xf32>, tensor<7xi32>)
    %f = stablehlo.dynamic_slice %a#0, , sizes = [] : (tensor<f32>) -> tensor<f32>
    return %a#0, %b#1, %c#0, %d#1, %e#0, %f : tensor<f32>, tensor<i32>, tensor<5xf32>, tensor<5xi32>, tensor<7xf32>, tensor<f32>
  }
}
