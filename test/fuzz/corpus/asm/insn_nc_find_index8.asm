program "nc_find_index8" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" u32[2,8] output
slot %1 input "src" f32[2,16]
slot %2 input "values" f32[2,8]

kernel 0 "nc_find_index8" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.nc_find_index8 dst=%0 u32[0](2:8, 8:1), src=%1 f32[0](2:16, 16:1), values=%2 f32[0](2:8, 8:1)
}

region 0 (%1, %2) -> (%0) {
  launch 0 # nc_find_index8
}
