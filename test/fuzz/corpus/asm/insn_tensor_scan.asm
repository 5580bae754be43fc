program "tensor_scan" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[11,700] output
slot %1 input "a" f32[11,700]
slot %2 input "b" f32[11,700]

kernel 0 "tensor_scan" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.tensor_scan dst=%0 f32[0](11:700, 700:1), a=%1 f32[0](11:700, 700:1), b=%2 f32[0](11:700, 700:1), reverse0=1, start=2, op0=sub, op1=max
}

region 0 (%1, %2) -> (%0) {
  launch 0 # tensor_scan
}
