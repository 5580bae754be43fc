program "iota_pattern" target cpu
info "{}"
outputs "dst"

slot %0 planned "dst" i32[5,9] output

kernel 0 "iota_pattern" grid() vars 0 semaphores 0 flops 0 bytes 0 {
  pool.iota_pattern dst=%0 i32[0](5:9, 9:1), base=1073741824, step4=-100, step5=7
}

region 0 () -> (%0) {
  launch 0 # iota_pattern
}
