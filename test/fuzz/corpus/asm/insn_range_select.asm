program "range_select" target cpu
info "{}"
outputs "dst", "reduced"

slot %0 planned "dst" f32[5,700] output
slot %1 input "src" f32[5,700]
slot %2 input "bound0" f32[5,1]
slot %3 input "bound1" f32[5,1]
slot %4 planned "reduced" f32[5,1] output

kernel 0 "range_select" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.range_select dst=%0 f32[0](5:700, 700:1), src=%1 f32[0](5:700, 700:1), bound0=%2 f32[0](5:1, 1:1), bound1=%3 f32[0](5:1, 1:1), reduced=%4 f32[0](5:1, 1:1), start=50, fill=-3.40282347e+38, op0=ge, op1=lt
}

region 0 (%1, %2, %3) -> (%0, %4) {
  launch 0 # range_select
}
