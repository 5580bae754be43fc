program "sym" target cpu
symbol "n" runtime
dim sym 0 # $0
node 0 "r" "b"
outputs "r"

slot %0 input "x" f32[62]
slot %1 const f32[] = {0}
slot %2 dynamic f32[] output
slot %3 dynamic "a" f32[n]
slot %4 dynamic "b" f32[n]

kernel 0 "add" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.tensor_tensor dst=%3 f32[0](1:1), a=%2 f32[0](1:1), b=%4 f32[0](1:1), op=add node 0
}

call 0 reduce_with(%0, %1) -> (%2) {"axes"=ints [0], "lanes"=int 1} regions 1 node 0

region 0 (%0) -> (%2) {
  call 0 # reduce_with
}

region 1 (%3, %4) -> (%2) {
  launch 0 # add
}
