program "" target cpu
outputs "out"

slot %0 planned "buffer" i32[200] output
slot %1 input "buffer" i32[200]
slot %2 input "buffer" i32[200]

kernel 0 "test" grid(3) vars 1 semaphores 0 flops 1073741824 bytes 0 {
  pool.affine_select dst=%0 i32[g0*56](min(4,9-g0*4):14, 14:1), src=%1 i32[g0*56](min(4,9-g0*4):14, 14:1), offset=g0*4, row_step=1, column_step=-1, fill=-7
}

call 0 identity(%2) -> (%0)

region 0 (%2, %1) -> (%0) {
  call 0 # identity
  launch 0 # test
}
