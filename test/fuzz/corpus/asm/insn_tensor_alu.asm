program "tensor_alu" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" u32[1,6] output
slot %1 input "src" u32[1,6]
slot %2 input "a" u32[1,1]

kernel 0 "tensor_alu" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.tensor_alu dst=%0 u32[0](1:6, 6:1), src=%1 u32[0](1:6, 6:1), a=%2 u32[0](1:1, 1:1), scalar0=0, scalar1=3, op0=and, op1=shr, reduce=identity
}

region 0 (%1, %2) -> (%0) {
  launch 0 # tensor_alu
}
