// Regions that use values from around them: while, if, case, reduce, sort, map.
func.func @main(%x: tensor<3xf32>, %s: tensor<f32>) -> (tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:2 = stablehlo.while(%n = %zero, %sum = %s) : tensor<i32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %n, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %n1 = stablehlo.add %n, %one : tensor<i32>
    %s1 = stablehlo.multiply %sum, %s : tensor<f32>
    stablehlo.return %n1, %s1 : tensor<i32>, tensor<f32>
  }
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %da = stablehlo.multiply %a, %s : tensor<f32>
    %db = stablehlo.multiply %b, %s : tensor<f32>
    %c = stablehlo.compare LT, %da, %db : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %2 = stablehlo.reduce(%x init: %f) across dimensions = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  reducer(%a: tensor<f32>, %b: tensor<f32>) {
    %t = stablehlo.multiply %b, %s : tensor<f32>
    %u = stablehlo.add %a, %t : tensor<f32>
    stablehlo.return %u : tensor<f32>
  }
  %3 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<f32>):
    %t = stablehlo.subtract %a, %s : tensor<f32>
    stablehlo.return %t : tensor<f32>
  }) : (tensor<3xf32>) -> tensor<3xf32>
  %far = stablehlo.constant dense<7> : tensor<i32>
  %4 = "stablehlo.case"(%far) ({
    stablehlo.return %f : tensor<f32>
  }, {
    %yes = stablehlo.constant dense<true> : tensor<i1>
    %i = "stablehlo.if"(%yes) ({
      %t = stablehlo.add %s, %0#1 : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }, {
      stablehlo.return %s : tensor<f32>
    }) : (tensor<i1>) -> tensor<f32>
    stablehlo.return %i : tensor<f32>
  }) : (tensor<i32>) -> tensor<f32>
  return %0#1, %1, %2, %3, %4 : tensor<f32>, tensor<3xf32>, tensor<f32>, tensor<3xf32>, tensor<f32>
}
