program "" target cpu
outputs "out", "out"

slot %0 planned "buffer" f32[80] output
slot %1 planned "buffer" f32[80] output
slot %2 input "buffer" f32[80]
slot %3 input "buffer" f32[1]
slot %4 input "buffer" f32[80]
slot %5 input "buffer" f32[80]

kernel 0 "test" grid(2) vars 1 semaphores 0 flops 1073741824 bytes 0 {
  dve.bn_stats mean=%0 f32[g0*9](min(3,4-g0*3):3, 3:1, 1:1), variance=%1 f32[g0*9](min(3,4-g0*3):3, 3:1, 1:0), src=%2 f32[g0*45](min(3,4-g0*3):15, 3:4, 1:1)
}

call 0 identity(%4) -> (%0)
call 1 identity(%5) -> (%1)

region 0 (%4, %5, %2, %3) -> (%0, %1) {
  call 0 # identity
  call 1 # identity
  launch 0 # test
}
