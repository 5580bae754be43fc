program "" target cpu
outputs "out"

slot %0 planned "buffer" u8[1500] output
slot %1 input "buffer" u8[1500]
slot %2 input "buffer" u8[1500]

kernel 0 "test" grid() vars 0 semaphores 0 flops 1073741824 bytes 0 {
  pe.nc_transpose dst=%0 u8[0](3:147, 21:7, 7:1), src=%1 u8[0](3:147, 7:21, 21:1)
}

call 0 identity(%2) -> (%0)

region 0 (%2, %1) -> (%0) {
  call 0 # identity
  launch 0 # test
}
