program "" target cpu
outputs "out"

slot %0 planned "buffer" f32[200] output
slot %1 input "buffer" f32[200]
slot %2 input "buffer" f32[200]

kernel 0 "test" grid(3) vars 1 semaphores 0 flops 1073741824 bytes 0 {
  pool.iota dst=%0 f32[g0*56](min(4,9-g0*4):14, 14:1), base=g0*4+-3, row_step=1, column_step=2
}

call 0 identity(%2) -> (%0)

region 0 (%2, %1) -> (%0) {
  call 0 # identity
  launch 0 # test
}
