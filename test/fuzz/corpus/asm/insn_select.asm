program "t" target cpu
node 0 "" ""
outputs "y"

slot %0 input "x0" bool[2,2]
slot %1 input "x1" u8[2,2]
slot %2 input "x2" u8[2,2]
slot %3 planned u8[2,2] output

kernel 0 "where" grid() vars 0 semaphores 0 flops 4 bytes 64 {
  dve.select dst=%3 u8[0](4:1), predicate=%0 bool[0](4:1), a=%1 u8[0](4:1), b=%2 u8[0](4:1) node 0
}

region 0 (%0, %1, %2) -> (%3) {
  launch 0 # where
}
