program "" target cpu
outputs "out"

slot %0 planned "buffer" f32[40] output
slot %1 input "buffer" f32[40]
slot %2 input "buffer" f32[40]
slot %3 input "buffer" f32[40]

kernel 0 "test" grid(2) vars 1 semaphores 0 flops 1073741824 bytes 0 {
  dve.scalar_tensor_tensor dst=%0 f32[g0*3](min(3,4-g0*3):1, 1:1, 1:1), src=%1 f32[g0*3](min(3,4-g0*3):1, 1:1, 1:1), tensor=%2 f32[0](min(3,4-g0*3):0, 1:0, 1:1), scalar=0.5, op0=mul, op1=add
}

call 0 identity(%3) -> (%0)

region 0 (%3, %1, %2) -> (%0) {
  call 0 # identity
  launch 0 # test
}
