program "nc_stream_shuffle" target cpu
info "{}"
outputs "dst"

slot %0 input "dst" f32[64,5]
slot %1 input "src" f32[64,5]
slot %2 planned "dst" f32[64,5] output

kernel 0 "nc_stream_shuffle" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.nc_stream_shuffle dst=%2 f32[0](64:5, 5:1), src=%1 f32[0](64:5, 5:1), mask0=64493260543, mask1=26223838719, mask2=124856507647, mask3=86052312063, mask4=47246019327, mask5=8976597503, mask6=6399
}

kernel 1 "dst" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  sp.dma_copy dst=%2 f32[0](320:1), src=%0 f32[0](320:1)
}

region 0 (%0, %1) -> (%2) {
  launch 1 # dst
  launch 0 # nc_stream_shuffle
}
