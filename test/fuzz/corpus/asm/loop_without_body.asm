program "g" target cpu
symbol "trips.0" runtime
dim sym 0 # $1e30
node 0 "s2" "Add"
node 1 "s" "Loop"
outputs "x"

slot %0 input "n" i64[]
slot %1 input "node" f32[2]
slot %2 planned "s" f32[2] output
slot %3 dynamic "o" f32[trips.0,2]
slot %4 dynamic "i" i64[]
slot %5 dynamic "c" bool[]
slot %6 dynamic "s" f32[2]
slot %7 const "k" f32[2] = {1, 1}
slot %8 planned "s2" f32[2]
slot %9 planned "o" f32[2]

call 0 add(%6, %7) -> (%8) node 0
call 1 loop(%0, _, %1) -> (%2, %3) node 1

region 0 (%0, %1) -> (%0) {
  call 1 # loop
}

region 1 (%4, %5, %6) -> (%5, %8, %4) {
  call 0 # add
}
