program "g" target cpu
symbol "n"
dim sym 0 # $0
node 0 "s2" "Add"
node 1 "s" "Scan"
outputs "s", "o"

slot %0 input "s0" f32[2]
slot %1 input "xs" f32[n,2]
slot %2 dynamic "s" f32[2] output
slot %3 dynamic "o" f32[n,2] output
slot %4 dynamic "s" f32[2]
slot %5 dynamic "x" f32[2]
slot %6 planned "s2" f32[2]

call 0 add(%4, %5) -> (%6) node 0
call 1 scan(%0, %1) -> (%2, %3) {"num_scan_inputs"=int 1} regions 1 node 1

region 0 (%0, %1) -> (%2, %3) {
  call 1 # scan
}

region 1 (%4, %5) -> (%6, %6) {
  call 0 # add
}
