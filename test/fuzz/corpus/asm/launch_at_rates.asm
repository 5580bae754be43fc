program "steps" target cpu
node 0 "n" "n"
outputs "y"
slot %0 input "x" f32[4]
slot %1 const i32[] = {0}
slot %2 planned i32[]
slot %3 planned f32[4] output
slot %4 const i32[] = {3}
slot %5 planned bool[]
slot %6 const i32[] = {1}
slot %7 planned i32[]
slot %8 planned f32[4]
slot %9 planned f32[4]
kernel 0 "lt" grid() vars 0 semaphores 0 flops 1 bytes 12 {
  dve.tensor_tensor dst=%5 bool[0](1:0), a=%2 i32[0](1:0), b=%4 i32[0](1:0), op=lt node 0
}
kernel 1 "count" grid() vars 0 semaphores 0 flops 1 bytes 12 {
  dve.tensor_tensor dst=%7 i32[0](1:0), a=%2 i32[0](1:0), b=%6 i32[0](1:0), op=add node 0
}
kernel 2 "double" grid() vars 0 semaphores 0 flops 4 bytes 48 {
  dve.tensor_scalar dst=%8 f32[0](4:1), src=%3 f32[0](4:1), scalar0=2, scalar1=0, op0=mul, op1=identity
}
kernel 3 "triple" grid() vars 0 semaphores 0 flops 4 bytes 48 {
  dve.tensor_scalar dst=%8 f32[0](4:1), src=%3 f32[0](4:1), scalar0=3, scalar1=0, op0=mul, op1=identity
}
kernel 4 "one" grid() vars 0 semaphores 0 flops 4 bytes 48 {
  dve.tensor_scalar dst=%9 f32[0](4:1), src=%0 f32[0](4:1), scalar0=1, scalar1=0, op0=add, op1=identity
}
kernel 5 "two" grid() vars 0 semaphores 0 flops 4 bytes 48 {
  dve.tensor_scalar dst=%9 f32[0](4:1), src=%0 f32[0](4:1), scalar0=2, scalar1=0, op0=add, op1=identity
}
call 0 while(%1, %9) -> (_, %3) regions 1, 2 node 0
region 0 (%0) -> (%3) {
 launch 4 bf16 0 to 200
 launch 5 bf16 200 to 0
 call 0
}
region 1 (%2, %3) -> (%5) {
 launch 0
}
region 2 (%2, %3) -> (%7, %8) {
 launch 1
 launch 2 bf16 0 to 200
 launch 3 bf16 200 to 0
}
