program "random" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" f32[4,5000] output

kernel 0 "random" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  dve.random dst=%0 f32[0](4:5000, 5000:1), seed=7, low=-1, high=3
}

region 0 () -> (%0) {
  launch 0 # random
}
