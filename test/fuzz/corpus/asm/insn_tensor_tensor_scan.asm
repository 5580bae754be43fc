program "" target cpu
outputs "out"

slot %0 planned "buffer" f32[80] output
slot %1 input "buffer" f32[80]
slot %2 input "buffer" f32[80]
slot %3 input "buffer" f32[1]
slot %4 input "buffer" f32[80]

kernel 0 "test" grid(2) vars 1 semaphores 0 flops 1073741824 bytes 0 {
  dve.tensor_tensor_scan dst=%0 f32[g0*9](min(3,4-g0*3):3, 3:1, 1:1), a=%2 f32[g0*45](min(3,4-g0*3):15, 3:4, 1:1), b=%1 f32[g0*9](min(3,4-g0*3):3, 3:1, 1:1), initial=0.699999988, op0=mul, op1=add
}

call 0 identity(%4) -> (%0)

region 0 (%4, %1, %2, %3) -> (%0) {
  call 0 # identity
  launch 0 # test
}
