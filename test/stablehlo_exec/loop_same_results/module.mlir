// Two values that a loop carries are one result of its body: only one place is computed, the other is a copy.
func.func @main(%a: tensor<7xf32>, %b: tensor<7xf32>) -> tensor<7xf32> {
  %z = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = "stablehlo.while"(%z, %a, %b) ({
  ^bb0(%i: tensor<i32>, %x: tensor<7xf32>, %y: tensor<7xf32>):
    %n = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%i: tensor<i32>, %x: tensor<7xf32>, %y: tensor<7xf32>):
    %m = stablehlo.negate %y : tensor<7xf32>
    %o = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %o : tensor<i32>
    stablehlo.return %j, %m, %m : tensor<i32>, tensor<7xf32>, tensor<7xf32>
  }) : (tensor<i32>, tensor<7xf32>, tensor<7xf32>) -> (tensor<i32>, tensor<7xf32>, tensor<7xf32>)
  return %r#1 : tensor<7xf32>
}
