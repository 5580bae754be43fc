program "" target cpu
outputs "out"

slot %0 planned "buffer" f32[84] output
slot %1 input "buffer" f32[40]
slot %2 input "buffer" f32[84]

kernel 0 "test" grid() vars 0 semaphores 0 flops 1073741824 bytes 0 {
  dve.resize_linear dst=%0 f32[0](6:14, 7:2, 2:1), image=%1 f32[0](4:10, 5:2, 2:1), rows=6, scale_h=0, scale_w=0
}

call 0 identity(%2) -> (%0)

region 0 (%2, %1) -> (%0) {
  call 0 # identity
  launch 0 # test
}
