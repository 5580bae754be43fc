program "nc_match_replace8" target cpu
info "{}"
outputs "dst", "index"

slot %0 planned "dst" f32[2,16] output
slot %1 input "src" f32[2,16]
slot %2 input "values" f32[2,8]
slot %3 planned "index" u32[2,8] output

kernel 0 "nc_match_replace8" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.nc_match_replace8 dst=%0 f32[0](2:16, 16:1), src=%1 f32[0](2:16, 16:1), values=%2 f32[0](2:8, 8:1), index=%3 u32[0](2:8, 8:1), value=-1000
}

region 0 (%1, %2) -> (%0, %3) {
  launch 0 # nc_match_replace8
}
