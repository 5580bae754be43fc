program "g" target cpu
symbol "trips.0" runtime
symbol "trips.1" runtime
symbol "trips.2" runtime
symbol "trips.3" runtime
symbol "trips.4" runtime
symbol "trips.5" runtime
symbol "trips.6" runtime
symbol "trips.7" runtime
dim sym 0 # $0
dim sym 1 # $1
dim sym 2 # $2
dim sym 3 # $3
dim sym 4 # $4
dim sym 5 # $5
dim sym 6 # $6
dim sym 7 # $7
node 0 "s2" "Add"
node 1 "o" "Mul"
node 2 "s" "Loop"
outputs "s", "o"

slot %0 input "n" i64[]
slot %1 input "s0" f32[2]
slot %2 dynamic "s" f32[2] output
slot %3 dynamic "o" f32[trips.0,2] output
slot %4 dynamic "i" i64[]
slot %5 dynamic "c" bool[]
slot %6 dynamic "s" f32[2]
slot %7 const "k" f32[2] = {1, 1}
slot %8 planned "s2" f32[2]
slot %9 planned "o" f32[2]

kernel 0 "o" grid(1) vars 1 semaphores 0 flops 2 bytes 16 {
  dve.tensor_tensor dst=%9 f32[g0*2](min(2,2-g0*2):1), a=%8 f32[g0*2](min(2,2-g0*2):1), b=%8 f32[g0*2](min(2,2-g0*2):1), op=mul node 1
}

call 0 add(%6, %7) -> (%8) node 0
call 1 loop(%0, _, %1) -> (%2, %3) regions 1 node 2

region 0 (%0, %1) -> (%2, %3) {
  call 1 # loop
}

region 1 (%4, %5, %6) -> (%5, %8, %9) {
  call 0 # add
  launch 0 # o
}
