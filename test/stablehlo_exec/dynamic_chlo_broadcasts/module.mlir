// CHLO's broadcasting operations, and a constant of another array's shape, where sizes are known only while running.
func.func @main(%x: tensor<?x?xf32>, %y: tensor<?xf32>, %column: tensor<?x1xf32>, %s: tensor<f32>) -> (tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>) {
  %0 = chlo.broadcast_add %x, %y : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %1 = chlo.broadcast_multiply %column, %y : (tensor<?x1xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %2 = chlo.broadcast_compare %x, %s {comparison_direction = #chlo<comparison_direction LT>} : (tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xi1>
  %3 = chlo.broadcast_subtract %x, %column : (tensor<?x?xf32>, tensor<?x1xf32>) -> tensor<?x?xf32>
  %4 = chlo.is_inf %x : tensor<?x?xf32> -> tensor<?x?xi1>
  %5 = "chlo.constant_like"(%x) {value = 2.5 : f32} : (tensor<?x?xf32>) -> tensor<?x?xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<?x?xf32>, tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>, tensor<?x?xi1>, tensor<?x?xf32>
}
