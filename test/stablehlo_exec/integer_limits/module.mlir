// Constants at the ends of 64 bits, which shape arithmetic does not hold, through what folds: moves, conversions, sums.
module {
  func.func @main(%arg0: tensor<i1>) -> (tensor<4xi64>, tensor<4xi64>, tensor<6xi64>, tensor<2x2xi64>, tensor<2xi64>, tensor<i64>, tensor<i64>) {
    %c = stablehlo.constant dense<[9223372036854775807, -9223372036854775808, -1, 9223372036854775806]> : tensor<4xi64>
    %u = stablehlo.constant dense<[9223372036854775807, 18446744073709551615, 9223372036854775808, 9223372036854775806]> : tensor<4xui64>
    %one = stablehlo.constant dense<1> : tensor<4xi64>
    %two = stablehlo.constant dense<[7, -7]> : tensor<2xi64>
    %0 = stablehlo.shift_right_logical %c, %one : tensor<4xi64>
    %1 = stablehlo.convert %u : (tensor<4xui64>) -> tensor<4xi64>
    %2 = stablehlo.concatenate %c, %two, dim = 0 : (tensor<4xi64>, tensor<2xi64>) -> tensor<6xi64>
    %3 = stablehlo.reshape %c : (tensor<4xi64>) -> tensor<2x2xi64>
    %4 = stablehlo.slice %c [0:2] : (tensor<4xi64>) -> tensor<2xi64>
    %5 = stablehlo.select %arg0, %4, %two : tensor<i1>, tensor<2xi64>
    %zero = stablehlo.constant dense<0> : tensor<i64>
    %sum = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
    %most = stablehlo.reduce(%c init: %zero) applies stablehlo.maximum across dimensions = [0] : (tensor<4xi64>, tensor<i64>) -> tensor<i64>
    return %0, %1, %2, %3, %5, %sum, %most : tensor<4xi64>, tensor<4xi64>, tensor<6xi64>, tensor<2x2xi64>, tensor<2xi64>, tensor<i64>, tensor<i64>
  }
}
